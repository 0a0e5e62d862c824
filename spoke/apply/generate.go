package apply

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// alphabet is what random values are made of: no character needs quoting in a
// shell, a URL or a configuration file.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// maxLength bounds a random value, in characters.
const maxLength = 1024

// errLength tells that a renderer asked for an impossible length.
var errLength = errors.New("a random value has 1 to 1024 characters")

// source is where generated data comes from.
type source struct {
	// random must be fit for secrets.
	random io.Reader
	// now decides about certificates.
	now time.Time
}

// generate returns the keys to write into a Secret that has existing data: those
// that are good as they are, and new ones for what is missing or spent. A length
// out of 1 to 1024 and a failing source are errors.
func generate(g component.Generate, existing map[string][]byte, from source) (map[string][]byte, error) {
	data := make(map[string][]byte, len(g.Random)+3)
	for _, key := range sortedKeys(g.Random) {
		if len(existing[key]) > 0 {
			data[key] = existing[key]
			continue
		}
		value, err := random(g.Random[key], from.random)
		if err != nil {
			return nil, fmt.Errorf("generating %q: %w", key, err)
		}
		data[key] = value
	}
	if g.TLS == nil {
		return data, nil
	}
	pair, err := certificate(*g.TLS, existing, from)
	if err != nil {
		return nil, err
	}
	maps.Copy(data, pair)
	return data, nil
}

// random draws n characters, each with the same probability.
func random(n int, from io.Reader) ([]byte, error) {
	if n < 1 || n > maxLength {
		return nil, errLength
	}
	// A byte at or above this bound would make the first letters more likely.
	const bound = 256 - 256%len(alphabet)
	value := make([]byte, 0, n)
	buffer := make([]byte, n)
	for len(value) < n {
		if _, err := io.ReadFull(from, buffer); err != nil {
			return nil, fmt.Errorf("reading randomness: %w", err)
		}
		for _, b := range buffer {
			if int(b) < bound && len(value) < n {
				value = append(value, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return value, nil
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
