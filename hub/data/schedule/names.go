package schedule

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"
)

const (
	// maxStem is the maximum length of the part of a name before the suffix: 63 less
	// "-manual-20261121-020000". Both kinds of names share it.
	maxStem = 40
	// stemHash is the length of the hash that replaces the rest of a name.
	stemHash = 8
)

// BackupName returns the name of the backup of an application's copy in a cluster for a
// scheduled time: shop-eu-1-20261121-0200, in UTC. It is a valid label of at most 63
// characters for the years 0 to 9999. It is deterministic, so that a second attempt finds
// the existing backup.
func BackupName(app, cluster string, scheduledTime time.Time) string {
	return stem(app, cluster) + "-" + scheduledTime.UTC().Format("20060102-1504")
}

// ManualName returns the name of a backup that a user requested at a time:
// shop-eu-1-manual-20261121-020000.
func ManualName(app, cluster string, at time.Time) string {
	return stem(app, cluster) + "-manual-" + at.UTC().Format("20060102-150405")
}

// stem joins application and cluster. It appends a hash of the two if the result would be
// ambiguous: because it is truncated, because characters were replaced, or because the
// application's name contains a dash (shop-eu in 1 and shop in eu-1).
func stem(app, cluster string) string {
	plain := app + "-" + cluster
	text := label(plain)
	if text == plain && len(text) <= maxStem && app != "" && cluster != "" && !strings.Contains(app, "-") {
		return text
	}
	sum := sha256.Sum256([]byte(app + "\x00" + cluster))
	hash := strings.ToLower(base32.HexEncoding.EncodeToString(sum[:5]))
	text = strings.TrimRight(text[:min(len(text), maxStem-1-stemHash)], "-")
	if text == "" {
		return hash
	}
	return text + "-" + hash
}

// label replaces characters that are invalid in a label by dashes, and removes dashes at
// both ends.
func label(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, text), "-")
}
