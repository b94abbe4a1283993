package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/blob/fileblob"
	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
	"github.com/evalfarm/evalfarm/pkg/blob/s3blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// CheckBlobs says what is wrong with an address of blobs: file:///folder, or
// s3://bucket/prefix?endpoint=URL&region=NAME.
func CheckBlobs(address string) error {
	switch scheme, _, _ := strings.Cut(address, "://"); scheme {
	case "file":
		u, err := url.Parse(address)
		if err != nil || u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
			return errors.New("want file:///folder, with an absolute path")
		}
		return nil
	case "s3":
		_, err := s3blob.Parse(address)
		return err
	default:
		return errors.New("want file:///folder or s3://bucket/prefix?endpoint=URL&region=NAME")
	}
}

// Shared says whether an address of blobs is a folder or a bucket, and not that of
// a scheduler.
func Shared(address string) bool {
	return strings.HasPrefix(address, "file://") || strings.HasPrefix(address, "s3://")
}

// openShare opens the folder or the bucket at an address. The keys of a bucket are
// secrets like any other.
func (c Config) openShare(address string) (blob.Share, error) {
	if err := CheckBlobs(address); err != nil {
		return nil, fmt.Errorf("the address of blobs: %w", err)
	}
	if strings.HasPrefix(address, "file:") {
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		return fileblob.Open(u.Path)
	}
	at, err := s3blob.Parse(address)
	if err != nil {
		return nil, err
	}
	var keys s3blob.Credentials
	if keys.ID, err = c.Secret("AWS_ACCESS_KEY_ID"); err == nil {
		keys.Secret, err = c.Secret("AWS_SECRET_ACCESS_KEY")
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", at.Bucket, err)
	}
	keys.Session, _ = lookup(c.Environ, "AWS_SESSION_TOKEN")
	return s3blob.Open(at, keys)
}

// layered is a store whose blobs may also be in a folder or a bucket, where workers
// have put those that are too large for a record. It writes to neither but what its
// own store takes.
type layered struct {
	store.Store
	// share is opened when it is needed: most commands never ask for a large blob.
	share func() (blob.Share, error)
}

// layer puts a store in front of the blobs at an address.
func (c Config) layer(s store.Store, address string) *layered {
	return &layered{Store: s, share: sync.OnceValues(func() (blob.Share, error) { return c.openShare(address) })}
}

// GetBlob returns a blob of the store, or of the folder or bucket.
func (l *layered) GetBlob(ctx context.Context, sha256 string) (eval.Blob, error) {
	b, err := l.Store.GetBlob(ctx, sha256)
	if !errors.Is(err, store.ErrNotFound) {
		return b, err
	}
	share, err := l.share()
	if err != nil {
		return eval.Blob{}, fmt.Errorf("blob %.12s is not in the store: %w", sha256, err)
	}
	return share.GetBlob(ctx, sha256)
}

// blobsFile remembers in the state folder where the blobs of the farm are, so that
// reports find them.
const blobsFile = "blobs"

// blobsAddress is where large blobs are beside the store: as configured, or as the
// last scheduler of this state folder had it; empty for nowhere.
func (c Config) blobsAddress() (string, error) {
	if c.Blobs != "" {
		return c.Blobs, nil
	}
	content, err := os.ReadFile(filepath.Join(c.Home, blobsFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read where the blobs are: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// farmFile tells workers that have only the folder or the bucket which farm it is
// of.
const farmFile = "farm.json"

// publish makes the folder or bucket of a store the farm's, and remembers where it
// is. One that belongs to another farm is refused: who joins there would take this
// one's trials for the other's.
func publish(ctx context.Context, c Config, share blob.Share, address string, farm httpblob.Farm) error {
	was, err := sharedFarm{share}.Farm(ctx)
	switch {
	case errors.Is(err, errNoFarm):
	case err != nil:
		return err
	case was.ID != farm.ID:
		return fmt.Errorf("%s holds the blobs of another farm, %s; give each farm a folder or a prefix of its own", address, was.ID)
	}
	content, err := json.Marshal(farm)
	if err != nil {
		return fmt.Errorf("tell workers which farm this is: %w", err)
	}
	if err := share.WriteFile(ctx, farmFile, content); err != nil {
		return fmt.Errorf("tell workers which farm this is: %w", err)
	}
	if err := os.WriteFile(filepath.Join(c.Home, blobsFile), []byte(address+"\n"), 0o600); err != nil {
		return fmt.Errorf("remember where the blobs are: %w", err)
	}
	return nil
}

// errNoFarm says that no scheduler has used a folder or bucket yet.
var errNoFarm = errors.New("no scheduler has used it yet; give the scheduler the same --blobs")

// sharedFarm is the farm of a folder or a bucket, as a worker sees it.
type sharedFarm struct{ blob.Share }

// Farm reads which farm this is.
func (s sharedFarm) Farm(ctx context.Context) (httpblob.Farm, error) {
	var f httpblob.Farm
	content, err := s.ReadFile(ctx, farmFile)
	if errors.Is(err, os.ErrNotExist) {
		return f, errNoFarm
	}
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	if err != nil {
		return f, fmt.Errorf("read %s: %w", farmFile, err)
	}
	return f, nil
}

// A doorway is what a worker joins a farm through.
type doorway interface {
	blob.Store
	Farm(ctx context.Context) (httpblob.Farm, error)
}

// doorway of a worker's address of blobs.
func (c WorkerConfig) doorway() (doorway, error) {
	if !Shared(c.Blobs) {
		return httpblob.New(c.Blobs, c.Token, &http.Client{Timeout: time.Minute}), nil
	}
	share, err := c.openShare(c.Blobs)
	return sharedFarm{share}, err
}

// published gives the queues of a scheduler: with a folder or a bucket, what jobs
// refer to goes there before them.
func (c Config) published(ctx context.Context, s store.Store, q queues, farm httpblob.Farm) (trials, judging jobs.Queue, err error) {
	l, ok := s.(*layered)
	if !ok {
		return q.trials, q.judging, nil
	}
	share, err := l.share()
	if err != nil {
		return nil, nil, err
	}
	address, err := c.blobsAddress()
	if err == nil {
		err = publish(ctx, c, share, address, farm)
	}
	if err != nil {
		return nil, nil, err
	}
	with := func(q jobs.Queue) jobs.Queue {
		return &published{Queue: q, from: l.Store, to: share, runs: map[string]bool{}}
	}
	return with(q.trials), with(q.judging), nil
}

// A published queue puts what a job refers to where workers find it, before it
// enqueues the job.
type published struct {
	jobs.Queue
	from blob.Store
	to   blob.Share

	mu   sync.Mutex      // guards runs
	runs map[string]bool // by header: those whose snapshot and cases are there
}

// Enqueue implements [jobs.Queue].
func (p *published) Enqueue(ctx context.Context, js []jobs.Job) error {
	for _, j := range js {
		if err := p.publish(ctx, j); err != nil {
			return fmt.Errorf("publish what %s refers to: %w", j.Key(), err)
		}
	}
	return p.Queue.Enqueue(ctx, js)
}

func (p *published) publish(ctx context.Context, j jobs.Job) error {
	if j.Subject != "" {
		if err := p.copy(ctx, j.Subject); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs[j.Header] {
		return nil
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, p.from, j.Header, &snap); err != nil {
		return err
	}
	// Once for each run that this process has, so that the age of a blob is that of
	// its last use.
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, c := range snap.Cases {
		g.Go(func() error { return p.copy(ctx, c.Blob) })
	}
	g.Go(func() error { return p.copy(ctx, j.Header) })
	if err := g.Wait(); err != nil {
		return err
	}
	p.runs[j.Header] = true
	return nil
}

func (p *published) copy(ctx context.Context, sha256 string) error {
	b, err := p.from.GetBlob(ctx, sha256)
	if errors.Is(err, store.ErrNotFound) {
		return nil // a worker has put it there, or it is gone, and the worker says so
	}
	if err != nil {
		return err
	}
	return p.to.PutBlobs(ctx, b)
}
