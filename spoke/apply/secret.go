package apply

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// errNotSecret is a mistake of a renderer.
var errNotSecret = errors.New("only the data of a Secret can be generated")

// fill adds generated data to the intent of a Secret that has existing data.
func (a *Applier) fill(intent *unstructured.Unstructured, existing map[string][]byte, g *component.Generate) error {
	if g == nil {
		return nil
	}
	if intent.GetKind() != "Secret" {
		return fmt.Errorf("filling %s %q: %w", intent.GetKind(), intent.GetName(), errNotSecret)
	}
	generated, err := generate(*g, existing, source{random: a.random, now: a.clock.Now()})
	if err != nil {
		return fmt.Errorf("filling Secret %q: %w", intent.GetName(), err)
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

// dataOf returns the data of a Secret, nil when it has none. What is not base64 is left out.
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

// onlyMissing reduces the intent of an object that is written once to what may
// be written over one that existed before: its metadata, and the keys of data
// that it lacks. What it has of the others is said again as it is: a key that we
// wrote once and say nothing about is one that an apply removes.
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
