package dumps

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	// Life is the lifetime of an order's requests. It is shorter than the maximum of the
	// providers, so that the recorded expiry of an hour holds even if signing is slow.
	Life = cloud.MaxLife - 5*time.Minute
	// maxListed is the maximum number of objects that are read below a prefix.
	maxListed = 10_000
)

// ToSend returns the order to upload the parts of a dump that the bucket lacks. If it has all of
// them, the order only verifies the file. A part of the wrong size is deleted and uploaded again.
//
// Errors wrap *cloud.Error. They are Invalid for a dump that no order can describe.
func ToSend(ctx context.Context, objects cloud.ObjectStore, dump *v1.DumpFile, caBundle []byte, now time.Time) (order.Order, error) {
	sizes, err := sizesOf(dump)
	if err != nil {
		return order.Order{}, err
	}
	inBucket, err := list(ctx, objects, dump.Object.Prefix)
	if err != nil {
		return order.Order{}, err
	}
	var sums order.Checksums
	if text := dump.Object.Checksums; text != "" {
		if sums, err = order.ReadChecksums(text, len(sizes)); err != nil {
			return order.Order{}, invalid("the dump has other parts than checksums: %v", err)
		}
	}
	var requests []cloud.ObjectRequest
	var missing []int
	o := orderFor(order.Send, dump, sizes, caBundle)
	for i, size := range sizes {
		key := PartKey(dump.Object.Prefix, i)
		part, found := inBucket[key]
		switch {
		case found && part.Bytes == size:
			continue
		case found:
			if err := objects.DeleteObject(ctx, key); err != nil {
				return order.Order{}, fmt.Errorf("deleting part %d, of %d bytes instead of %d: %w", i, part.Bytes, size, err)
			}
		}
		missing = append(missing, i)
		request := cloud.ObjectRequest{Method: http.MethodPut, Key: key}
		if sums != nil {
			request.CRC32C = sums.Of(i)
		}
		requests = append(requests, request)
	}
	return o, sign(ctx, objects, &o, signing{requests: requests, parts: missing, now: now})
}

// ToFetch returns the order to download a dump, after it has compared the manifest with
// the status. Errors wrap *cloud.Error, with NotFound for a missing dump, or ErrManifest.
func ToFetch(ctx context.Context, objects cloud.ObjectStore, dump *v1.DumpFile, caBundle []byte, now time.Time) (order.Order, error) {
	if _, err := sizesOf(dump); err != nil {
		return order.Order{}, err
	}
	m, err := Find(ctx, objects, dump.Object.Prefix)
	if err != nil {
		return order.Order{}, err
	}
	if !m.IsOf(dump) {
		return order.Order{}, fmt.Errorf("it is of another file: %w", ErrManifest)
	}
	requests := make([]cloud.ObjectRequest, 0, len(m.Parts))
	all := make([]int, 0, len(m.Parts))
	for i := range m.Parts {
		requests = append(requests, cloud.ObjectRequest{Method: http.MethodGet, Key: PartKey(dump.Object.Prefix, i)})
		all = append(all, i)
	}
	o := orderFor(order.Fetch, dump, m.Parts, caBundle)
	return o, sign(ctx, objects, &o, signing{requests: requests, parts: all, now: now})
}

// IsWhole reports whether a bucket has all parts of a dump that its manifest lists. Errors wrap *cloud.Error.
func IsWhole(ctx context.Context, objects cloud.ObjectStore, prefix string, m Manifest) (bool, error) {
	there, err := list(ctx, objects, prefix)
	if err != nil {
		return false, err
	}
	for i, size := range m.Parts {
		if part, found := there[PartKey(prefix, i)]; !found || part.Bytes != size {
			return false, nil
		}
	}
	return true, nil
}

// AreListed reports whether a list of the sizes of objects by key has all parts of a dump, and its manifest. It returns an
// error if it cannot be told which these are.
func AreListed(listed map[string]int64, dump *v1.DumpFile) (bool, error) {
	sizes, err := sizesOf(dump)
	if err != nil {
		return false, err
	}
	for i, size := range sizes {
		if listed[PartKey(dump.Object.Prefix, i)] != size {
			return false, nil
		}
	}
	_, sealed := listed[ManifestKey(dump.Object.Prefix)]
	return sealed, nil
}

// Seal writes the manifest of a Backup's dump if all parts are in the bucket, and reports
// whether they are. Errors wrap *cloud.Error, or ErrManifest if another manifest exists.
func Seal(ctx context.Context, objects cloud.ObjectStore, hub string, b *v1.Backup) (sealed bool, err error) {
	sizes, err := sizesOf(b.Status.Dump)
	if err != nil {
		return false, err
	}
	prefix := b.Status.Dump.Object.Prefix
	there, err := list(ctx, objects, prefix)
	if err != nil {
		return false, err
	}
	m := ManifestOf(hub, b)
	for i, size := range sizes {
		part, found := there[PartKey(prefix, i)]
		if !found || part.Bytes != size {
			return false, nil
		}
		if at := whole(part.ModifiedAt); at.After(m.CompletionTime) {
			m.CompletionTime = at
		}
	}
	text, err := m.Write()
	if err != nil {
		return false, invalid("no manifest can be written of the backup: %v", err)
	}
	err = objects.PutObject(ctx, ManifestKey(prefix), text)
	if cloud.ClassOf(err) == cloud.ClassConflict {
		// A manifest of another release is valid if it describes the same file.
		found, failed := Find(ctx, objects, prefix)
		if failed != nil {
			return false, failed
		}
		if !found.IsOf(b.Status.Dump) || found.Backup != b.Name {
			return false, fmt.Errorf("it is of another file: %w", ErrManifest)
		}
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("writing the manifest: %w", err)
	}
	return true, nil
}

// Erase deletes the objects below the prefix of a dump, its manifest first, at most limit
// in a call, and reports whether there may be more. Errors wrap *cloud.Error.
func Erase(ctx context.Context, objects cloud.ObjectStore, prefix string, limit int) (more bool, err error) {
	manifest := ManifestKey(prefix)
	found := false
	var keys []string
	for o, err := range objects.ListObjects(ctx, prefix+"/") {
		if err != nil {
			return true, fmt.Errorf("listing the dump: %w", err)
		}
		if o.Key == manifest {
			found = true
			continue
		}
		if len(keys) <= limit {
			keys = append(keys, o.Key)
		}
		if len(keys) > limit && o.Key > manifest {
			break
		}
	}
	if found {
		keys = slices.Insert(keys, 0, manifest)
	}
	for i, key := range keys {
		if i == limit {
			return true, nil
		}
		if err := objects.DeleteObject(ctx, key); err != nil {
			return true, fmt.Errorf("deleting the dump: %w", err)
		}
	}
	return false, nil
}

// list returns the objects below the prefix of a dump, sorted by key.
func list(ctx context.Context, objects cloud.ObjectStore, prefix string) (map[string]cloud.Object, error) {
	there := map[string]cloud.Object{}
	for o, err := range objects.ListObjects(ctx, prefix+"/") {
		if err != nil {
			return nil, fmt.Errorf("listing the dump: %w", err)
		}
		if len(there) == maxListed {
			return nil, invalid("there are more than %d objects below %s/", maxListed, prefix)
		}
		there[o.Key] = o
	}
	return there, nil
}

// sizesOf returns the sizes of the parts of a complete dump in a bucket.
func sizesOf(dump *v1.DumpFile) ([]int64, error) {
	switch {
	case dump == nil || dump.Object == nil || dump.File == "":
		return nil, invalid("the dump is not complete, or has no place in a bucket")
	case cloud.CheckKey(strings.Trim(dump.Object.Prefix, "/")) != nil || strings.HasSuffix(dump.Object.Prefix, "/"):
		return nil, invalid("the dump has a prefix that no bucket takes")
	}
	sizes := order.Sizes(dump.Bytes)
	if sizes == nil {
		return nil, invalid("a dump of %d bytes is not sent: 1 to %d are", dump.Bytes, int64(order.PartBytes)*order.MaxParts)
	}
	return sizes, nil
}

func invalid(format string, args ...any) error {
	return &cloud.Error{Class: cloud.ClassInvalid, Op: "Order", Message: fmt.Sprintf(format, args...)}
}

func orderFor(direction order.Direction, dump *v1.DumpFile, sizes []int64, caBundle []byte) order.Order {
	o := order.Order{
		Direction: direction, File: dump.File, Bytes: dump.Bytes, SHA256: dump.SHA256,
		CABundle: caBundle, Parts: make([]order.Part, 0, len(sizes)),
	}
	for _, size := range sizes {
		o.Parts = append(o.Parts, order.Part{Bytes: size})
	}
	return o
}

// signing holds the requests to sign, and the part that each request is for.
type signing struct {
	requests []cloud.ObjectRequest
	parts    []int
	now      time.Time
}

// sign adds the signed requests to an order.
func sign(ctx context.Context, objects cloud.ObjectStore, o *order.Order, s signing) error {
	o.ExpiresAt = s.now.Add(Life).UTC()
	if len(s.requests) == 0 {
		return nil
	}
	signed, err := objects.SignRequests(ctx, s.requests, Life)
	if err != nil {
		return fmt.Errorf("signing requests: %w", err)
	}
	if len(signed) != len(s.requests) {
		return invalid("%d requests were signed instead of %d", len(signed), len(s.requests))
	}
	for i, r := range signed {
		o.Parts[s.parts[i]].Request = &order.Request{Method: r.Method, URL: r.URL, Header: r.Header}
		if r.ExpiresAt.Before(o.ExpiresAt) {
			o.ExpiresAt = r.ExpiresAt.UTC()
		}
	}
	return nil
}
