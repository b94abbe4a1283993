package store

import (
	"context"
	"time"
)

// A NoticeState says where a notice stands.
type NoticeState string

const (
	// NoticeWaiting: it is to be sent, not before a time.
	NoticeWaiting NoticeState = "waiting"
	// NoticeSent: the target has taken it.
	NoticeSent NoticeState = "sent"
	// NoticeFailed: it was given up.
	NoticeFailed NoticeState = "failed"
	// NoticeSkipped: there is nothing to tell this target of this run.
	NoticeSkipped NoticeState = "skipped"
)

// A Notice is what one target is told of one run, once.
type Notice struct {
	Run    string      `json:"run"`
	Target string      `json:"target"`
	State  NoticeState `json:"state"`
	// Tries is how often somebody has begun to send it.
	Tries int `json:"tries"`
	// Due is when a waiting notice may be tried next.
	Due time.Time `json:"due,omitzero"`
	// Message says why the last try failed, or why the notice was skipped, without
	// secrets.
	Message string `json:"message,omitempty"`
	// Created is when the run was done, or somebody asked for the notice again.
	Created time.Time `json:"created"`
	// Ended is when it was sent, given up or skipped.
	Ended time.Time `json:"ended,omitzero"`
}

// Notices is the outbox: what is to be told of runs that are done. Finish puts
// notices into it together with the end of their run, so that none is lost. There
// is one for each run and target.
//
// Whoever sends claims a notice first, and says afterwards what came of it. One who
// dies in between leaves it to the next, so a notice may be sent twice, but never
// is it forgotten.
type Notices interface {
	// PutNotice makes a notice wait anew, with no tries, in the place of the one that
	// its run and target may have. It is ErrNotFound if there is no such run.
	PutNotice(ctx context.Context, n Notice) error
	// ClaimNotices counts a try of waiting notices and returns them: those of done runs
	// that are due at now, of the targets, of one run unless it is empty, the longest
	// due first, at most limit. Nobody else gets them before until.
	ClaimNotices(ctx context.Context, run string, targets []string, now, until time.Time, limit int) ([]Notice, error)
	// SettleNotice stores State, Due, Message and Ended of a notice that was claimed. If
	// somebody has claimed it again meanwhile, or it waits no longer, nothing changes.
	SettleNotice(ctx context.Context, n Notice) error
	// Notices returns those of a run by target, or, for "", at most limit of all, the
	// newest first, all of them for 0.
	Notices(ctx context.Context, run string, limit int) ([]Notice, error)
}
