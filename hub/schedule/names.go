package schedule

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"
)

const (
	// maxStem is how much of a name is left beside the longest of the endings:
	// 63 less "-manual-20261121-020000". Both kinds of name begin alike.
	maxStem = 40
	// stemHash is how many characters of a hash stand for what was left out.
	stemHash = 8
)

// BackupName returns the name of the backup of an application's copy in a cluster
// for a scheduled time: shop-eu-1-20261121-0200, in UTC. It is a label of at most 63
// characters, for scheduled times of the years 0 to 9999, and the same for the same scheduled time,
// whoever asks: the second one finds that it is there.
func BackupName(app, cluster string, scheduledTime time.Time) string {
	return stem(app, cluster) + "-" + scheduledTime.UTC().Format("20060102-1504")
}

// ManualName returns the name of a backup that somebody asked for at a time:
// shop-eu-1-manual-20261121-020000.
func ManualName(app, cluster string, at time.Time) string {
	return stem(app, cluster) + "-manual-" + at.UTC().Format("20060102-150405")
}

// stem returns application and cluster. It has a hash of the two where it would
// not tell them apart otherwise: because it is cut, because characters were
// replaced, or because the application has a dash, so that it could be a shorter
// name and a longer cluster: shop-eu in 1 and shop in eu-1.
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

// label replaces what a label cannot have by dashes, and drops dashes at both ends.
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
