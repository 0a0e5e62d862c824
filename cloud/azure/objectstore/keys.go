package objectstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
)

const (
	// keyLife is the lifetime of a user delegation key.
	keyLife = 2 * cloud.MaxLife
	// skew is the maximum by which the service's clock may be behind.
	skew = 15 * time.Minute
)

// key is a user delegation key, as the service writes it.
type key struct {
	XMLName       xml.Name `xml:"UserDelegationKey"`
	SignedOid     string
	SignedTid     string
	SignedStart   string
	SignedExpiry  string
	SignedService string
	SignedVersion string
	Value         string

	expires time.Time
	secret  []byte
}

// keys keeps the key that is in use.
type keys struct {
	pipeline runtime.Pipeline
	clock    clock.PassiveClock
	url      string
	// turn is taken by the request that reads or replaces the key. It is a channel so that waiting
	// for one ends with the request that waits.
	turn chan struct{}
	last key
}

// get returns a key that lasts for a while.
func (k *keys) get(ctx context.Context, life time.Duration) (key, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return key{}, ctx.Err()
	}
	now := k.clock.Now()
	if k.last.expires.After(now.Add(life)) {
		return k.last, nil
	}
	fresh, err := k.ask(ctx, now)
	if err != nil {
		return key{}, err
	}
	if fresh.expires.Before(now.Add(life)) {
		return key{}, &cloud.Error{Class: cloud.ClassTransient, Code: codeInvalidAnswer, Message: "the key ends before what it is to sign"}
	}
	k.last = fresh
	return fresh, nil
}

// ask asks the service for a key.
func (k *keys) ask(ctx context.Context, now time.Time) (key, error) {
	body, err := xml.Marshal(struct {
		XMLName       xml.Name `xml:"KeyInfo"`
		Start, Expiry string
	}{Start: now.Add(-skew).UTC().Format(timeFormat), Expiry: now.Add(keyLife).UTC().Format(timeFormat)})
	if err != nil {
		return key{}, err
	}
	question, err := runtime.NewRequest(ctx, http.MethodPost, k.url)
	if err != nil {
		return key{}, err
	}
	question.Raw().Header.Set("x-ms-version", version)
	question.Raw().Header.Set("Accept", "application/xml")
	if err := question.SetBody(streaming.NopCloser(bytes.NewReader(body)), "application/xml"); err != nil {
		return key{}, err
	}
	response, err := k.pipeline.Do(question)
	if err != nil {
		return key{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if !runtime.HasStatusCode(response, http.StatusOK) {
		return key{}, runtime.NewResponseError(response)
	}
	var fresh key
	if runtime.UnmarshalAsXML(response, &fresh) != nil || !fresh.complete() {
		return key{}, &cloud.Error{Class: cloud.ClassTransient, Code: codeInvalidAnswer, Message: "the answer is not a user delegation key"}
	}
	return fresh, nil
}

// complete parses a key, and reports whether it has all fields.
func (k *key) complete() bool {
	var err, errTime error
	k.secret, err = base64.StdEncoding.DecodeString(k.Value)
	k.expires, errTime = time.Parse(time.RFC3339, k.SignedExpiry)
	return err == nil && errTime == nil && len(k.secret) > 0 &&
		k.SignedOid != "" && k.SignedTid != "" && k.SignedStart != "" && k.SignedService != "" && k.SignedVersion != ""
}
