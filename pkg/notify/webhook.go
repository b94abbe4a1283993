package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// secretPrefix and the bounds of a key in bytes are those of Standard Webhooks.
const (
	secretPrefix = "whsec_"
	leastKey     = 24
	mostKey      = 64
)

// webhook posts a message with the headers of Standard Webhooks 1.0.
func (s *Sender) webhook(ctx context.Context, to eval.Webhook, m message) error {
	now := s.opts.Now()
	body := eval.Encode(m)
	signature, err := sign(to.Secret, m.id, now, body)
	if err != nil {
		return never(err.Error())
	}
	r, err := s.post(ctx, to.URL, true, http.Header{
		"Webhook-Id":        {m.id},
		"Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {signature},
	}, body)
	if err != nil {
		return err
	}
	return r.failure(s.opts.Now())
}

// sign makes the value of webhook-signature. Secrets may be several with spaces
// between them, while one takes the place of another: each signs.
func sign(secrets, id string, at time.Time, body []byte) (string, error) {
	var signatures []string
	for secret := range strings.FieldsSeq(secrets) {
		encoded, ok := strings.CutPrefix(secret, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) < leastKey || len(key) > mostKey {
			return "", fmt.Errorf("the webhook's secret is none: want whsec_ and the base64 of %d to %d bytes", leastKey, mostKey)
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(signatures) == 0 {
		return "", errors.New("the webhook's secret is empty")
	}
	return strings.Join(signatures, " "), nil
}
