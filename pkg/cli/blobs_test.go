package cli_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/internal/s3test"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// bulkySuite is judgedSuite with a case whose trajectory is too large for a record,
// and what that holds.
func bulkySuite(s *shop) (suite, bulk string) {
	suite = judgedSuite(s)
	noise := make([]byte, 60<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	bulk = base64.StdEncoding.EncodeToString(noise)
	f, err := os.OpenFile(suite, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintf(f, "  - {id: bulky, call: getCustomerStatus, arguments: {customerId: %s}, expect_error: {kind: tool}}\n", bulk)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return suite, bulk
}

// outsider is the same place for somebody who has another state folder, and neither
// the farm's token nor a way to its scheduler.
func (s *shop) outsider() *shop {
	o := *s
	o.env = slices.DeleteFunc(slices.Clone(s.env), func(kv string) bool {
		return strings.HasPrefix(kv, "EVALFARM_TOKEN=") || strings.HasPrefix(kv, "EVALFARM_HOME=")
	})
	o.env = append(o.env, "EVALFARM_HOME="+filepath.Join(s.dir, "elsewhere"))
	return &o
}

// sharedBlobs runs a farm whose workers share a folder or a bucket with its
// scheduler, but for so many that ask the scheduler.
func sharedBlobs(t *testing.T, address string, asking int, env ...string) *shop {
	t.Helper()
	s := newShop(t)
	s.env = append(s.env, env...)
	suite, bulk := bulkySuite(s)
	var want eval.Summary
	s.outsider().json(&want, 1, "run", suite, "--seed", "7", "--json", "--progress", "none")

	redis := redistest.Start(t)
	sched, hands := staff(s, redis, asking, 2, "--blobs", address, suite)
	for range 2 {
		hands = append(hands, s.outsider().start("worker", "--redis", redis.URL(), "--blobs", address, "-j", "2"))
	}
	sameAs(t, conclude(s, sched, hands, 1), want)
	// A person has the state folder and no flags.
	if out, code := s.run("show", "latest", "bulky", "--raw"); code != 0 || !strings.Contains(out, bulk[:1000]) {
		t.Errorf("show: exit code %d and %d bytes, want the trajectory with what was sent", code, len(out))
	}
	return s
}

func TestFarmWithASharedFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "blobs")
	s := sharedBlobs(t, "file://"+folder, 0)
	found, err := filepath.Glob(filepath.Join(folder, "*", "*.zst"))
	if err != nil || len(found) < 26 {
		t.Errorf("the folder has %d blobs, %v; want at least the snapshots and the 26 cases", len(found), err)
	}
	// Without the folder the rest can be read, and what is missing is said.
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"runs"}, 0},
		{[]string{"report", "latest"}, 0},
		{[]string{"show", "latest", "bulky", "--raw"}, 3},
	} {
		if out, code := s.run(tt.args...); code != tt.code {
			t.Errorf("%q without the folder: exit code %d, want %d\n%s", tt.args, code, tt.code, out)
		}
	}
	// Another farm's folder is not taken for one's own.
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "farm.json"), []byte(`{"id":"another"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	redis := redistest.Start(t)
	p := s.start("scheduler", "--redis", redis.URL(), "--listen", "127.0.0.1:0", "--blobs", "file://"+folder, "suite.yaml")
	if code := p.wait(); code != 3 || !strings.Contains(p.errs.String(), "another farm") {
		t.Errorf("exit code %d, want 3 and to hear of the other farm\n%s", code, p.errs.String())
	}
}

func TestAddressesOfBlobs(t *testing.T) {
	s := newShop(t)
	for name, tt := range map[string]struct{ address, want string }{
		"a relative path":        {"file://blobs", "absolute path"},
		"credentials in the URL": {"s3://id:key@bucket", "AWS_ACCESS_KEY_ID"},
		"an unknown setting":     {"s3://bucket?zone=1", "zone"},
		"a bad endpoint":         {"s3://bucket?endpoint=minio:9000", "endpoint"},
		"another scheme":         {"gs://bucket", "s3://bucket/prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.start("scheduler", "--redis", "redis://127.0.0.1:1", "--blobs", tt.address, "suite.yaml")
			if code := p.wait(); code != 2 || !strings.Contains(p.errs.String(), tt.want) {
				t.Errorf("exit code %d, want 2 and a word of %s\n%s", code, tt.want, p.errs.String())
			}
		})
	}
	p := s.start("worker", "--redis", "redis://127.0.0.1:1", "--blobs", "s3://bucket")
	if code := p.wait(); code != 3 || !strings.Contains(p.errs.String(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("exit code %d, want 3 and the variable that is not set\n%s", code, p.errs.String())
	}
}

// Some workers know the bucket, some the scheduler.
func TestFarmWithABucket(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	address := "s3://" + s3test.Bucket + "/nightly?endpoint=" + server.Endpoint
	sharedBlobs(t, address, 1, "AWS_ACCESS_KEY_ID="+s3test.ID, "AWS_SECRET_ACCESS_KEY="+s3test.Secret)
	found, err := filepath.Glob(server.Path("nightly/*/*.zst"))
	if err != nil || len(found) < 26 {
		t.Errorf("the bucket has %d blobs, %v; want at least the snapshots and the 26 cases", len(found), err)
	}
}
