package pgstore

import (
	"bytes"
	"net"
	neturl "net/url"
	"strings"
	"sync"
	"testing"
)

// A proxy stands between a store and its server and can cut their connection at a
// chosen point.
type proxy struct {
	url string

	mu   sync.Mutex
	word []byte // the command complete tag at which to cut; nil for none
	cut  bool
}

func newProxy(t *testing.T, url string) *proxy {
	t.Helper()
	u, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{}
	u.Host = l.Addr().String()
	u.RawQuery = "sslmode=disable" // what passes is to be read
	p.url = u.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.carry(client, server)
		}
	}()
	return p
}

// cutAfter cuts the connection on which the server next says that a command is
// complete, before the client hears it.
func (p *proxy) cutAfter(command string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word = []byte(strings.ToUpper(command) + "\x00")
}

func (p *proxy) wasCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

func (p *proxy) carry(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer server.Close()
		_, _ = server.(*net.TCPConn).ReadFrom(client)
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil || p.cuts(buf[:n]) {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) cuts(answer []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.word == nil || !bytes.Contains(answer, p.word) {
		return false
	}
	p.word, p.cut = nil, true
	return true
}
