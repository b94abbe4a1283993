package pgstore

import (
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sys/unix"

	"github.com/evalfarm/evalfarm/internal/pgtest"
)

// The connections of a store notice that their server has vanished.
func TestVanishedServer(t *testing.T) {
	db := openURL(t, pgtest.URL(t))
	on, err := db.Write.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	err = on.Raw(func(driver any) error {
		tcp, ok := driver.(*stdlib.Conn).Conn().PgConn().Conn().(*net.TCPConn)
		if !ok {
			t.Fatalf("got a connection of type %T, want TCP", driver.(*stdlib.Conn).Conn().PgConn().Conn())
		}
		raw, err := tcp.SyscallConn()
		if err != nil {
			return err
		}
		return inspect(t, raw)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func inspect(t *testing.T, raw syscall.RawConn) error {
	t.Helper()
	return raw.Control(func(fd uintptr) {
		for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: 20_000, unix.TCP_KEEPIDLE: 5, unix.TCP_KEEPINTVL: 5, unix.TCP_KEEPCNT: 3} {
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option); err != nil || got != want {
				t.Errorf("TCP option %d: got %d, %v, want %d", option, got, err, want)
			}
		}
	})
}
