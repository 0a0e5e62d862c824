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

// alphabet contains the characters of random values. None needs quoting in a shell, a URL
// or a configuration file.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// maxLength is the maximum length of a random value, in characters.
const maxLength = 1024

// errLength is returned for an invalid length.
var errLength = errors.New("the length of a random value must be 1 to 1024 characters")

// source provides randomness and time for generated data.
type source struct {
	// random must be cryptographically secure.
	random io.Reader
	// now is the time for certificates.
	now time.Time
}

// generate returns the keys to write to a Secret with existing data: valid values are
// kept, missing keys are generated, and an expiring certificate is replaced. It fails for
// a length outside 1 to 1024, and if the source fails.
func generate(g component.Generate, existing map[string][]byte, from source) (map[string][]byte, error) {
	data := map[string][]byte{}
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

// random returns n random characters with equal probability.
func random(n int, from io.Reader) ([]byte, error) {
	if n < 1 || n > maxLength {
		return nil, errLength
	}
	// Bytes at or above this bound would favour the first letters.
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
