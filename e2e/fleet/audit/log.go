package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Log is a part of an audit log, oldest first. Its methods return parts of it and
// can be chained: log.ByServiceAccount("shop", "hub").Writes().Of("deployments").
type Log []Event

// Mark is a position in a log file. The zero Mark is the start.
type Mark int64

// Read returns what the file holds after the mark, and the mark of its end. A last
// line that is still being written is left for the next Read; a file that does not
// exist yet is empty.
func Read(file string, after Mark) (Log, Mark, error) {
	raw, err := wholeLines(file, after)
	if err != nil {
		return nil, after, err
	}
	log, err := Parse(raw)
	return log, after + Mark(len(raw)), err
}

// Find reports whether what the file holds after the mark contains the text, and returns the
// mark of its end. It treats the file as Read does, but parses nothing.
func Find(file string, after Mark, text string) (bool, Mark, error) {
	raw, err := wholeLines(file, after)
	if err != nil {
		return false, after, err
	}
	return bytes.Contains(raw, []byte(text)), after + Mark(len(raw)), nil
}

// wholeLines returns the lines after the mark that end.
func wholeLines(file string, after Mark) ([]byte, error) {
	source, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = source.Close() }()
	if _, err := source.Seek(int64(after), io.SeekStart); err != nil {
		return nil, fmt.Errorf("seeking in the audit log: %w", err)
	}
	raw, err := io.ReadAll(source)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return raw[:bytes.LastIndexByte(raw, '\n')+1], nil
}

// Parse reads whole lines of a log. A line that a killed server left unfinished is
// skipped: the server goes on in a new line, or right behind the torn one.
func Parse(raw []byte) (Log, error) {
	var log Log
	for text := range bytes.Lines(raw) {
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		var parsed line
		err := json.Unmarshal(text, &parsed)
		if err != nil {
			parsed, err = afterTear(text)
		}
		if err != nil {
			return nil, fmt.Errorf("parsing audit line %q: %w", text, err)
		}
		if parsed.AuditID != "" {
			log = append(log, parsed.event())
		}
	}
	return log, nil
}

// afterTear returns the event that follows a torn one on the same line.
func afterTear(text []byte) (line, error) {
	const start = `{"kind":"Event"`
	last := bytes.LastIndex(text, []byte(start))
	if last < 0 {
		return line{}, errors.New("no event")
	}
	if last == 0 {
		return line{}, nil
	}
	var parsed line
	if err := json.Unmarshal(text[last:], &parsed); err != nil {
		return line{}, fmt.Errorf("decoding the event behind a torn one: %w", err)
	}
	return parsed, nil
}

// Where returns the events that the function accepts.
func (l Log) Where(accept func(Event) bool) Log {
	var kept Log
	for _, e := range l {
		if accept(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// Writes returns the requests that asked to change stored state; see Event.Write.
// Refused ones are among them: add Succeeded for those that did change it.
func (l Log) Writes() Log { return l.Where(Event.Write) }

// Deletes returns the writes that delete one object or many.
func (l Log) Deletes() Log {
	return l.Where(func(e Event) bool { return e.Write() && strings.HasPrefix(e.Verb, "delete") })
}

// Succeeded returns the successful requests.
func (l Log) Succeeded() Log { return l.Where(Event.Succeeded) }

// Code returns the requests with this HTTP status.
func (l Log) Code(code int) Log {
	return l.Where(func(e Event) bool { return e.Code == code })
}

// Verb returns the requests with one of the verbs.
func (l Log) Verb(verbs ...string) Log {
	return l.Where(func(e Event) bool { return slices.Contains(verbs, e.Verb) })
}

// ByUser returns the requests of a user.
func (l Log) ByUser(user string) Log {
	return l.Where(func(e Event) bool { return e.User == user })
}

// ByServiceAccount returns the requests of a ServiceAccount.
func (l Log) ByServiceAccount(namespace, name string) Log {
	return l.ByUser("system:serviceaccount:" + namespace + ":" + name)
}

// ByAgent returns the requests of clients whose user agent starts with the prefix.
func (l Log) ByAgent(prefix string) Log {
	return l.Where(func(e Event) bool { return strings.HasPrefix(e.UserAgent, prefix) })
}

// Of returns the requests for the resource, in its plural and without a group,
// including its subresources.
func (l Log) Of(resource string) Log {
	return l.Where(func(e Event) bool { return e.Resource == resource })
}

// Except returns the requests for other resources, in their plurals and without groups.
func (l Log) Except(resources ...string) Log {
	return l.Where(func(e Event) bool { return !slices.Contains(resources, e.Resource) })
}

// In returns the requests for objects in the namespace.
func (l Log) In(namespace string) Log {
	return l.Where(func(e Event) bool { return e.Namespace == namespace })
}

// About returns the requests for the namespace and for objects in it.
func (l Log) About(namespace string) Log {
	return l.Where(func(e Event) bool {
		return e.Namespace == namespace || e.Resource == "namespaces" && e.Name == namespace
	})
}

// ByVerb counts the requests by verb. A key also has the subresource, whether the request is about
// events, and the HTTP status unless that is 200.
func (l Log) ByVerb() map[string]int {
	counts := map[string]int{}
	for _, e := range l {
		key := e.Verb
		if e.Subresource != "" {
			key += " " + e.Subresource
		}
		if e.Resource == "events" {
			key += " events"
		}
		if e.Code != http.StatusOK {
			key += fmt.Sprintf(" → %d", e.Code)
		}
		counts[key]++
	}
	return counts
}

// Since returns the requests that came in at that time or later.
func (l Log) Since(t time.Time) Log {
	return l.Where(func(e Event) bool { return !e.Received.Before(t) })
}

// String returns a line per event, for the message of a failed test.
func (l Log) String() string {
	var text strings.Builder
	for _, e := range l {
		text.WriteString(e.String())
		text.WriteByte('\n')
	}
	return text.String()
}
