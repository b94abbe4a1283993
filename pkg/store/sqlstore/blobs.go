package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// PutBlobs stores blobs; one that is there already is left alone. A blob whose
// content does not have its sha256 is an error, and none is stored. Until a run
// refers to it, a blob is kept as long as [DB.Collect] is told to keep things.
func (db *DB) PutBlobs(ctx context.Context, bs ...eval.Blob) error {
	if err := check(bs); err != nil {
		return fmt.Errorf("put blobs: %w", err)
	}
	err := db.change(ctx, func(tx *transaction) error { return putBlobs(ctx, tx, bs) })
	if err != nil {
		return fmt.Errorf("put blobs: %w", err)
	}
	return nil
}

// GetBlob returns a blob, or ErrNotFound.
func (db *DB) GetBlob(ctx context.Context, sha256 string) (eval.Blob, error) {
	var b eval.Blob
	err := db.look(ctx, func(q querier) (err error) {
		b, err = getBlob(ctx, q, sha256)
		return err
	})
	return b, err
}

func getBlob(ctx context.Context, q querier, sha256 string) (eval.Blob, error) {
	b := eval.Blob{SHA256: sha256}
	err := q.queryRow(ctx, `SELECT zstd FROM blobs WHERE sha256 = ?`, sha256).Scan(&b.Zstd)
	if err != nil {
		return eval.Blob{}, fmt.Errorf("get blob %.64q: %w", sha256, missing(err))
	}
	return b, nil
}

// check opens every blob.
func check(bs []eval.Blob) error {
	for _, b := range bs {
		if err := blob.Check(b); err != nil {
			return err
		}
	}
	return nil
}

// putBlobs stores blobs that have been checked. Bringing one again renews its
// time, or Collect could take it between an upload and the record that refers
// to it; once an hour is enough for that, and spares most writes.
func putBlobs(ctx context.Context, tx *transaction, bs []eval.Blob) error {
	now := time.Now()
	for _, b := range bs {
		err := tx.later(ctx, `
			INSERT INTO blobs (sha256, zstd, put) VALUES (?, ?, ?)
			ON CONFLICT (sha256) DO UPDATE SET put = excluded.put WHERE blobs.put < ?`,
			b.SHA256, b.Zstd, micros(now), micros(now.Add(-time.Hour)))
		if err != nil {
			return err
		}
	}
	return nil
}

// needBlobs records that a run needs blobs.
func needBlobs(ctx context.Context, tx *transaction, run string, sha256s ...string) error {
	for _, sum := range sha256s {
		if sum == "" {
			continue
		}
		err := tx.later(ctx, `INSERT INTO run_blobs (run, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING`, run, sum)
		if err != nil {
			return err
		}
	}
	return nil
}
