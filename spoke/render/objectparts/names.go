package objectparts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Maximum lengths of names, in characters.
const (
	// MaxName is the maximum length of the name of a Service, and of everything reached
	// through one: an RFC 1035 label.
	MaxName = 63
	// MaxStatefulSetName leaves room for the hash of a revision, which the
	// StatefulSet's controller appends and writes into a label.
	MaxStatefulSetName = 52
	// MaxCronJobName leaves room for the time that its Jobs' names end in.
	MaxCronJobName = 52

	hashLength = 8
)

// Name returns base+suffix as an RFC 1035 label of at most limit characters, which must
// be at least len(suffix)+11. A valid name is returned unchanged; another is cleaned and
// shortened, with a hash of base before the suffix. The result is deterministic.
func Name(base, suffix string, limit int) string {
	cleaned := strings.ToLower(strings.ReplaceAll(base, ".", "-"))
	if cleaned != "" && (cleaned[0] < 'a' || cleaned[0] > 'z') {
		cleaned = "x" + cleaned
	}
	if cleaned == base && len(base)+len(suffix) <= limit {
		return base + suffix
	}
	room := limit - len(suffix) - hashLength - 1
	cleaned = strings.TrimRight(cleaned[:min(len(cleaned), room)], "-")
	return cleaned + "-" + Hash(base) + suffix
}

// LabelValue returns s as a label value: unchanged up to 63 characters, otherwise
// shortened, with a hash of s.
func LabelValue(s string) string {
	if len(s) <= MaxName {
		return s
	}
	return strings.TrimRight(s[:MaxName-hashLength-1], "-._") + "-" + Hash(s)
}

// Hash returns 8 hexadecimal digits of the SHA-256 of the parts.
func Hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// Inputs returns a hash of the parts of a spec that a pod template is rendered from, without the annotations of its
// ServiceAccount. Fields that later releases add do not change it where they are not set.
func Inputs(settings v1.PodSettings, parts ...any) string {
	settings.ServiceAccountAnnotations = nil
	raw, err := json.Marshal(append(parts, settings))
	if err != nil {
		return "" // The template is not held then.
	}
	return Hash(string(raw))
}

// DataHash returns 16 hexadecimal digits of the SHA-256 of a ConfigMap's data.
func DataHash(data map[string]string) string {
	h := sha256.New()
	for _, key := range sortedKeys(data) {
		for _, s := range []string{key, data[key]} {
			h.Write([]byte(s))
			h.Write([]byte{0})
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:2*hashLength]
}

// ImageVersion returns the tag of an image as a label value; empty if there is no valid
// one.
func ImageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, found := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !found || len(tag) > MaxName || strings.Trim(tag, "-._") != tag {
		return ""
	}
	return tag
}

// Image returns an image from another registry, a host with an optional port and path; unchanged if
// the registry is empty or is that of the image already. As for container runtimes, a name that does not begin with a host is one of
// docker.io, and there in library if it has no path.
func Image(registry, image string) string {
	if registry == "" || strings.HasPrefix(image, registry+"/") {
		return image
	}
	first, rest, found := strings.Cut(image, "/")
	switch {
	case !found:
		image = "library/" + image
	case first == "docker.io" && !strings.Contains(rest, "/"):
		image = "library/" + rest
	case first == "localhost" || strings.ContainsAny(first, ".:"):
		image = rest
	}
	return registry + "/" + image
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
