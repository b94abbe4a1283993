// Package s3blob keeps blobs in a bucket of an S3-compatible object store.
package s3blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// An Address says where a bucket is. It holds no secrets.
type Address struct {
	Bucket string
	// Prefix of all objects, without slashes around it; may be empty.
	Prefix string
	// Endpoint is the host and perhaps the port of the service, and Insecure that it
	// is spoken to without TLS.
	Endpoint string
	Insecure bool
	Region   string
}

// Parse reads s3://bucket/prefix?endpoint=URL&region=NAME. The endpoint defaults
// to AWS, the region to us-east-1, which most other services take.
func Parse(text string) (Address, error) {
	a := Address{Endpoint: "s3.amazonaws.com", Region: "us-east-1"}
	u, err := url.Parse(text)
	if err != nil {
		return a, errors.New("it is no URL; want s3://bucket/prefix?endpoint=https://host&region=name")
	}
	switch {
	case u.Scheme != "s3" || u.Host == "" || u.Fragment != "":
		return a, errors.New("want s3://bucket/prefix?endpoint=https://host&region=name")
	case u.User != nil:
		return a, errors.New("credentials do not belong into the address; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	a.Bucket, a.Prefix = u.Host, strings.Trim(path.Clean("/"+u.Path), "/")
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return a, errors.New("what follows the ? cannot be read")
	}
	for key, values := range query {
		if !slices.Contains([]string{"endpoint", "region"}, key) || len(values) != 1 || values[0] == "" {
			return a, fmt.Errorf("%.40q is not understood; endpoint and region are, once each", key)
		}
	}
	if region := query.Get("region"); region != "" {
		a.Region = region
	}
	if text := query.Get("endpoint"); text != "" {
		e, err := url.Parse(text)
		if err != nil || (e.Scheme != "http" && e.Scheme != "https") || e.Host == "" || strings.Trim(e.Path, "/") != "" || e.RawQuery != "" || e.User != nil {
			return a, errors.New("endpoint wants a URL such as https://minio.example.com:9000, without credentials")
		}
		a.Endpoint, a.Insecure = e.Host, e.Scheme == "http"
	}
	return a, nil
}

// Credentials of a bucket. Session may be empty.
type Credentials struct{ ID, Secret, Session string }

// A Bucket is a [blob.Share]. It is safe for concurrent use.
//
// The blob with the sha256 abcd… is the object prefix/ab/abcd….zst. An object is
// put even if it is there, so its age is that of its last use, and a lifecycle rule
// of the bucket may delete what is older than the runs that are kept.
type Bucket struct {
	client *minio.Client
	at     Address
}

var _ blob.Share = (*Bucket)(nil)

// Open makes a client of a bucket. It does not speak with the service yet.
func Open(a Address, c Credentials) (*Bucket, error) {
	client, err := minio.New(a.Endpoint, &minio.Options{
		Creds:      credentials.NewStaticV4(c.ID, c.Secret, c.Session),
		Secure:     !a.Insecure,
		Region:     a.Region,
		MaxRetries: 3, // whoever asks tries again, or does without
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %s at %s: %w", a.Bucket, a.Endpoint, err)
	}
	return &Bucket{client: client, at: a}, nil
}

const (
	// patience bounds one request with its repetitions.
	patience = time.Minute
	// maxObject is the largest object that is read, in bytes: the largest blob that
	// a scheduler takes, compressed.
	maxObject = 64 << 20
)

// PutBlobs implements [blob.Store].
func (b *Bucket) PutBlobs(ctx context.Context, bs ...eval.Blob) error {
	for _, x := range bs {
		if _, err := blob.Unpack(x); err != nil {
			return err
		}
		if err := b.put(ctx, object(x.SHA256), "application/zstd", x.Zstd); err != nil {
			return fmt.Errorf("put blob %s: %w", x.SHA256, err)
		}
	}
	return nil
}

// object is the name of a blob's object, below the prefix.
func object(sha256 string) string { return sha256[:2] + "/" + sha256 + ".zst" }

// GetBlob implements [blob.Store]. The content is checked: others may write here.
func (b *Bucket) GetBlob(ctx context.Context, sha256 string) (eval.Blob, error) {
	if !blob.Named(sha256) {
		return eval.Blob{}, fmt.Errorf("get blob %.64q: %w", sha256, store.ErrNotFound)
	}
	content, err := b.get(ctx, object(sha256))
	if os.IsNotExist(err) {
		err = store.ErrNotFound
	}
	got := eval.Blob{SHA256: sha256, Zstd: content}
	if err == nil {
		_, err = blob.Unpack(got)
	}
	if err != nil {
		return eval.Blob{}, fmt.Errorf("get blob %s from bucket %s: %w", sha256, b.at.Bucket, err)
	}
	return got, nil
}

// ReadFile implements [blob.Share].
func (b *Bucket) ReadFile(ctx context.Context, name string) ([]byte, error) {
	content, err := b.get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %s from bucket %s: %w", name, b.at.Bucket, err)
	}
	return content, nil
}

// WriteFile implements [blob.Share].
func (b *Bucket) WriteFile(ctx context.Context, name string, content []byte) error {
	if err := b.put(ctx, name, "application/octet-stream", content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (b *Bucket) put(ctx context.Context, name, kind string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := b.client.PutObject(ctx, b.at.Bucket, path.Join(b.at.Prefix, name), bytes.NewReader(content), int64(len(content)),
		minio.PutObjectOptions{ContentType: kind, DisableMultipart: true})
	if err != nil {
		return fmt.Errorf("bucket %s: %w", b.at.Bucket, err)
	}
	return nil
}

// get returns an object, or os.ErrNotExist.
func (b *Bucket) get(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o, err := b.client.GetObject(ctx, b.at.Bucket, path.Join(b.at.Prefix, name), minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	defer o.Close()
	content, err := io.ReadAll(io.LimitReader(o, maxObject+1))
	if answer := minio.ToErrorResponse(err); err != nil && answer.StatusCode == http.StatusNotFound && answer.Code == minio.NoSuchKey {
		return nil, os.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	if len(content) > maxObject {
		return nil, fmt.Errorf("the object is larger than %d bytes", maxObject)
	}
	return content, nil
}
