package objectstore

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shopfleet/shopfleet/cloud"
)

// SignRequests implements cloud.ObjectStore. It sends nothing, but for credentials where they
// are not there or end too soon.
func (c *client) SignRequests(ctx context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	const op = "SignRequests"
	if err := cloud.CheckRequests(wanted, life); err != nil {
		return nil, refusal(op, cloud.ClassInvalid, "", err.Error(), err)
	}
	// S3 counts in whole seconds, from a whole second on.
	began := c.clock.Now().Truncate(time.Second)
	life = life.Truncate(time.Second)
	expires, err := c.lasting(ctx, began.Add(life), life/2)
	if err != nil {
		return nil, c.fail(op, read, err)
	}
	out := make([]cloud.SignedRequest, 0, len(wanted))
	for _, w := range wanted {
		signed, err := c.signOne(ctx, w, life)
		if err != nil {
			return nil, c.fail(op, read, err)
		}
		out = append(out, cloud.SignedRequest{Method: signed.Method, URL: signed.URL, Header: headerOf(signed.SignedHeader), ExpiresAt: expires})
	}
	return out, nil
}

// lasting returns the expiry of requests that should be valid until a time: earlier if
// the credentials expire before. Credentials that expire too early are renewed once.
func (c *client) lasting(ctx context.Context, until time.Time, slack time.Duration) (time.Time, error) {
	kept, err := c.credentials.Retrieve(ctx)
	if err == nil && kept.CanExpire && kept.Expires.Before(until.Add(-slack)) {
		c.credentials.Invalidate()
		kept, err = c.credentials.Retrieve(ctx)
	}
	if err != nil {
		return time.Time{}, err
	}
	if kept.CanExpire && kept.Expires.Before(until) {
		return kept.Expires, nil
	}
	return until, nil
}

func (c *client) signOne(ctx context.Context, w cloud.ObjectRequest, life time.Duration) (*v4.PresignedHTTPRequest, error) {
	key := aws.String(c.prefix + w.Key)
	if w.Method == http.MethodPut {
		in := &s3.PutObjectInput{Bucket: &c.bucket, Key: key, IfNoneMatch: aws.String("*")}
		if w.CRC32C != "" {
			in.ChecksumCRC32C = &w.CRC32C
		}
		return c.sign.PresignPutObject(ctx, in, s3.WithPresignExpires(life))
	}
	return c.sign.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &c.bucket, Key: key}, s3.WithPresignExpires(life))
}

// headerOf returns the headers that the client must send. The host is in the URL.
func headerOf(signed http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range signed {
		if !strings.EqualFold(name, "Host") {
			out[http.CanonicalHeaderKey(name)] = strings.Join(values, ",")
		}
	}
	return out
}
