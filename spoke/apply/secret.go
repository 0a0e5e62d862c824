package apply

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// errNotSecret indicates a bug in a renderer.
var errNotSecret = errors.New("only the data of a Secret can be generated")

// addGenerated adds generated data to the intent of a Secret with existing data.
func (a *Applier) addGenerated(intent *unstructured.Unstructured, existing map[string][]byte, g *component.Generate) error {
	if g == nil {
		return nil
	}
	if intent.GetKind() != "Secret" {
		return fmt.Errorf("generating data of %s %q: %w", intent.GetKind(), intent.GetName(), errNotSecret)
	}
	generated, err := generate(*g, existing, source{random: a.random, now: a.clock.Now()})
	if err != nil {
		return fmt.Errorf("generating data of Secret %q: %w", intent.GetName(), err)
	}
	data, _ := intent.Object["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = make(map[string]any, len(generated))
	}
	for key, value := range generated {
		data[key] = encode(value)
	}
	intent.Object["data"] = data
	return nil
}

func encode(value []byte) string { return base64.StdEncoding.EncodeToString(value) }

// dataOf returns the data of a Secret; nil if it has none. Invalid base64 is skipped.
func dataOf(content map[string]any) map[string][]byte {
	encoded, ok := content["data"].(map[string]any)
	if !ok {
		return nil
	}
	data := make(map[string][]byte, len(encoded))
	for key, value := range encoded {
		text, _ := value.(string)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			data[key] = decoded
		}
	}
	return data
}

// onlyMissing reduces the intent of a write-once object to what may be written to an
// existing one: its metadata, and missing keys of data. Existing values are included
// unchanged, because an apply would otherwise remove keys that it set before.
func onlyMissing(intent *unstructured.Unstructured, live map[string]any) *unstructured.Unstructured {
	reduced := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": intent.GetAPIVersion(),
		"kind":       intent.GetKind(),
		"metadata":   intent.Object["metadata"],
	}}
	data, ok := intent.Object["data"].(map[string]any)
	if !ok {
		return reduced
	}
	data = maps.Clone(data)
	existing, _ := live["data"].(map[string]any)
	for key := range data {
		if value, ok := existing[key]; ok {
			data[key] = value
		}
	}
	reduced.Object["data"] = data
	return reduced
}
