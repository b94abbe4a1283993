// Package httpblob keeps blobs at a scheduler's HTTP API, for workers that have
// no database.
package httpblob

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Paths of the API that the client uses.
const (
	FarmPath = "/api/v1/farm"
	BlobPath = "/api/v1/blobs/"
)

// A Farm says which farm a scheduler belongs to.
type Farm struct {
	// ID of the store, which is the key namespace of the farm's queue.
	ID string `json:"id"`
	// Version of the scheduler.
	Version string `json:"version"`
	// Lease of claims on this farm, in nanoseconds: all its parts must agree.
	Lease time.Duration `json:"lease_ns"`
}

// A Client talks to one scheduler. It is safe for concurrent use.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// New makes a client for a scheduler's base URL and token.
func New(base, token string, c *http.Client) *Client {
	return &Client{base: strings.TrimRight(base, "/"), token: token, http: Direct(c)}
}

// Direct is an HTTP client that follows no redirect: it would take the token elsewhere,
// or make a GET of a POST.
func Direct(c *http.Client) *http.Client {
	direct := *c
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &direct
}

// Farm asks which farm this is.
func (c *Client) Farm(ctx context.Context) (Farm, error) {
	var f Farm
	body, err := c.do(ctx, http.MethodGet, FarmPath, nil)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return f, fmt.Errorf("read the farm's identity at %s: %w", c.base, err)
	}
	return f, nil
}

// GetBlob returns a blob, or store.ErrNotFound.
func (c *Client) GetBlob(ctx context.Context, sha256 string) (eval.Blob, error) {
	body, err := c.do(ctx, http.MethodGet, BlobPath+sha256, nil)
	if err != nil {
		return eval.Blob{}, err
	}
	return eval.Blob{SHA256: sha256, Zstd: body}, nil
}

// PutBlobs stores blobs; one that is there already is left alone.
func (c *Client) PutBlobs(ctx context.Context, bs ...eval.Blob) error {
	for _, b := range bs {
		if _, err := c.do(ctx, http.MethodPut, BlobPath+b.SHA256, b.Zstd); err != nil {
			return err
		}
	}
	return nil
}

// maxAnswer bounds an answer: the largest blob and some.
const maxAnswer = 65 << 20

func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.base, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if method == http.MethodPut {
		req.Header.Set("Content-Type", "application/zstd")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the scheduler: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%s %s: %w", method, path, store.ErrNotFound)
	case resp.StatusCode >= 300:
		var p struct {
			Detail string `json:"detail"`
		}
		_ = json.Unmarshal(answer, &p)
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, p.Detail)
	}
	return answer, nil
}
