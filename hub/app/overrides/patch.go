package overrides

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	kjson "sigs.k8s.io/json"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxBytes bounds a spec as JSON after each patch. An object in etcd has about 1.5 MiB at most.
const maxBytes = 1 << 20

var (
	errValue = errors.New("value must be set, and not null: use the operation remove to remove a field")
	errSize  = fmt.Errorf("the spec has more than %d bytes after it: copy less", maxBytes)
)

// patch applies patches in order. The error begins with the path of the patch in its override.
func patch(spec v1.EcommerceAppSpec, patches []v1.JSONPatch) (v1.EcommerceAppSpec, error) {
	if len(patches) == 0 {
		return spec, nil
	}
	document, err := json.Marshal(spec)
	if err != nil {
		return spec, fmt.Errorf("jsonPatches: encoding the spec: %w", err)
	}
	for i := range patches {
		if document, err = apply(document, &patches[i]); err != nil {
			return spec, fmt.Errorf("jsonPatches[%d]: %s %s: %w", i, patches[i].Op, patches[i].Path, err)
		}
	}
	var patched v1.EcommerceAppSpec
	unknown, err := kjson.UnmarshalStrict(document, &patched)
	if err = cmp.Or(err, errors.Join(unknown...)); err != nil {
		return spec, fmt.Errorf("jsonPatches: the result is not a spec, correct paths and values: %w", err)
	}
	if field := shared(&spec, &patched); field != "" {
		return spec, fmt.Errorf("jsonPatches: they change %s, which is the same in all clusters: change spec.%s instead", field, field)
	}
	return patched, nil
}

// apply applies one operation to a document.
func apply(document []byte, p *v1.JSONPatch) ([]byte, error) {
	if slices.Contains([]string{"add", "replace", "test"}, p.Op) && len(p.Value.Raw) == 0 {
		return nil, errValue
	}
	text, err := json.Marshal([]*v1.JSONPatch{p})
	if err != nil {
		return nil, fmt.Errorf("encoding the patch: %w", err)
	}
	operations, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, fmt.Errorf("decoding the patch: %w", err)
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = false // RFC 6902 has none.
	options.AccumulatedCopySizeLimit = maxBytes
	patched, err := operations.ApplyWithOptions(document, options)
	switch {
	case errors.Is(err, jsonpatch.ErrTestFailed):
		return nil, fmt.Errorf("the spec has another value there: %w", err)
	case errors.Is(err, jsonpatch.ErrMissing):
		return nil, fmt.Errorf("the spec has nothing there, correct the path, or add what it is in first: %w", err)
	case err != nil:
		return nil, err
	case len(patched) > maxBytes:
		return nil, errSize
	}
	return patched, nil
}

// shared returns a field that differs between two specs although the hub has one value of it for all
// clusters; empty if there is none.
func shared(before, after *v1.EcommerceAppSpec) string {
	was, is := before.Database, after.Database
	differ := func(a, b any) bool { return !equality.Semantic.DeepEqual(a, b) }
	switch {
	case differ(before.Placement, after.Placement):
		return "placement"
	case differ(before.Deletion, after.Deletion):
		return "deletion"
	case len(after.Overrides) > 0:
		return "overrides"
	case after.Rollout != nil:
		return "rollout"
	case len(after.Propagate) > 0:
		return "propagate"
	case before.Paused != after.Paused:
		return "paused"
	case was == nil && is == nil:
		return ""
	case was == nil || is == nil:
		return "database"
	case was.Engine != is.Engine:
		return "database.engine"
	case was.Version != is.Version:
		return "database.version"
	case differ(was.Backup, is.Backup):
		return "database.backup"
	}
	return ""
}
