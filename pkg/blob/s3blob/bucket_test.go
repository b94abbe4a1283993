package s3blob_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/internal/s3test"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/blob/blobtest"
	"github.com/evalfarm/evalfarm/pkg/blob/s3blob"
)

func TestConformance(t *testing.T) {
	for name, prefix := range map[string]string{"with a prefix": "/a/b/", "without": ""} {
		t.Run(name, func(t *testing.T) {
			s := s3test.Start(t)
			a, err := s3blob.Parse("s3://" + s3test.Bucket + prefix + "?endpoint=" + s.Endpoint)
			if err != nil {
				t.Fatal(err)
			}
			blobtest.Share(t, func(t *testing.T) blob.Share {
				t.Helper()
				b, err := s3blob.Open(a, s3blob.Credentials{ID: s3test.ID, Secret: s3test.Secret})
				if err != nil {
					t.Fatal(err)
				}
				return b
			}, func(t *testing.T, sha256 string, content []byte) {
				t.Helper()
				path := s.Path(strings.Trim(prefix, "/") + "/" + sha256[:2] + "/" + sha256 + ".zst")
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	s := s3test.Start(t)
	b := blob.Pack([]byte("hello"))
	for name, tt := range map[string]struct {
		address string
		keys    s3blob.Credentials
		want    string
	}{
		"wrong keys": {"s3://" + s3test.Bucket + "?endpoint=" + s.Endpoint, s3blob.Credentials{ID: s3test.ID, Secret: "another-secret"}, "bucket " + s3test.Bucket},
		"no bucket":  {"s3://nowhere?endpoint=" + s.Endpoint, s3blob.Credentials{ID: s3test.ID, Secret: s3test.Secret}, "bucket nowhere"},
		"nobody":     {"s3://" + s3test.Bucket + "?endpoint=http://127.0.0.1:1", s3blob.Credentials{ID: s3test.ID, Secret: s3test.Secret}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := s3blob.Parse(tt.address)
			if err != nil {
				t.Fatal(err)
			}
			bucket, err := s3blob.Open(a, tt.keys)
			if err != nil {
				t.Fatal(err)
			}
			put := bucket.PutBlobs(t.Context(), b)
			_, get := bucket.GetBlob(t.Context(), b.SHA256)
			for what, err := range map[string]error{"put": put, "get": get} {
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), tt.keys.Secret) {
					t.Errorf("%s: got %v, want an error with %q and without the secret", what, err, tt.want)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want s3blob.Address
		bad  string
	}{
		"bucket":      {text: "s3://b", want: s3blob.Address{Bucket: "b", Endpoint: "s3.amazonaws.com", Region: "us-east-1"}},
		"all":         {text: "s3://b/p/q/?endpoint=https://minio.example:9000&region=eu", want: s3blob.Address{Bucket: "b", Prefix: "p/q", Endpoint: "minio.example:9000", Region: "eu"}},
		"plain http":  {text: "s3://b?endpoint=http://m", want: s3blob.Address{Bucket: "b", Endpoint: "m", Insecure: true, Region: "us-east-1"}},
		"dots":        {text: "s3://b/../x", want: s3blob.Address{Bucket: "b", Prefix: "x", Endpoint: "s3.amazonaws.com", Region: "us-east-1"}},
		"no bucket":   {text: "s3:///p", bad: "s3://bucket/prefix"},
		"other":       {text: "http://b", bad: "s3://bucket/prefix"},
		"no URL":      {text: "s3://%", bad: "no URL"},
		"keys":        {text: "s3://id:key@b", bad: "do not belong"},
		"twice":       {text: "s3://b?region=a&region=b", bad: "once each"},
		"unknown":     {text: "s3://b?acl=x", bad: `"acl"`},
		"path":        {text: "s3://b?endpoint=https://m/path", bad: "endpoint wants"},
		"key in host": {text: "s3://b?endpoint=https://id:key@m", bad: "endpoint wants"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s3blob.Parse(tt.text)
			if tt.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tt.bad) {
					t.Errorf("got %v, want an error with %q", err, tt.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("address (-want +got):\n%s", d)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("s3://b/p?endpoint=https://h:1&region=r")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := s3blob.Parse(text)
		if err == nil && (a.Bucket == "" || a.Endpoint == "" || strings.HasPrefix(a.Prefix, "/") || strings.Contains("/"+a.Prefix+"/", "/../")) {
			t.Errorf("%q is taken for %+v", text, a)
		}
	})
}
