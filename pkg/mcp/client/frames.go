package client

import (
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Bounds of the frames that one attachment keeps. Notifications have a lower
// one, so that a flood of them does not push out the answers.
const (
	framesKept        = 2000
	framesKeptBytes   = 8 << 20
	notificationsKept = 200
)

// frames are the first messages of a conversation, within bounds. The session's
// mutex guards them.
type frames struct {
	list          []eval.Frame
	bytes         int
	notifications int
	lost          int
	lostBytes     int
}

func (fs *frames) add(f eval.Frame, notification bool) {
	if len(fs.list) >= framesKept || fs.bytes+len(f.Raw) > framesKeptBytes || notification && fs.notifications >= notificationsKept {
		fs.lost++
		fs.lostBytes += len(f.Raw)
		return
	}
	fs.list = append(fs.list, f)
	fs.bytes += len(f.Raw)
	if notification {
		fs.notifications++
	}
}

func (fs *frames) clone() frames {
	c := *fs
	c.list = slices.Clone(fs.list)
	return c
}

// all gives the frames, and after them a marker when some were not kept.
func (fs *frames) all() []eval.Frame {
	list := slices.Clone(fs.list)
	if fs.lost > 0 {
		marker := eval.Frame{Noise: true, Raw: eval.Encode(fmt.Sprintf("evalfarm: %d more frames (%d bytes) were not kept", fs.lost, fs.lostBytes))}
		if len(list) > 0 {
			marker.At = list[len(list)-1].At
		}
		list = append(list, marker)
	}
	return list
}
