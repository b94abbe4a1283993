package pgtest_test

import (
	"net"
	neturl "net/url"
	"testing"

	"github.com/evalfarm/evalfarm/internal/pgtest"
)

func answers(t *testing.T, url string) bool {
	t.Helper()
	u, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

func TestStopAndRestart(t *testing.T) {
	s := pgtest.Start(t)
	for _, step := range []struct {
		name string
		do   func(testing.TB)
		want bool
	}{
		{"fresh", func(testing.TB) {}, true},
		{"stopped", s.Stop, false},
		{"restarted", s.Restart, true},
	} {
		step.do(t)
		if got := answers(t, s.URL("postgres")); got != step.want {
			t.Errorf("%s: got an answer %t, want %t", step.name, got, step.want)
		}
	}
}

func TestTestsShareAServer(t *testing.T) {
	one, other := pgtest.URL(t), pgtest.URL(t)
	a, errA := neturl.Parse(one)
	b, errB := neturl.Parse(other)
	if errA != nil || errB != nil || a.Host != b.Host || a.Path == b.Path {
		t.Errorf("got %s and %s, want two databases on one server", one, other)
	}
}
