package restore

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	// maxLoads is how many Jobs there are when loading fails.
	maxLoads = 3
	// maxFetches is how many there are when the dump was not brought from the bucket: what
	// a Job has brought, the next one need not.
	maxFetches = 12
)

// ending is how the Job of an attempt ended.
type ending struct {
	engine v1.Engine
	// from records the source that the Job read the dump from, and sent reports whether all
	// of the dump is in a bucket.
	from v1.DumpSource
	sent bool
	// attempt is how many Jobs there were before.
	attempt int32
	// expired is true if the Job exceeded its deadline.
	expired bool
	outcome memberjob.Outcome
}

// next represents the step that follows the end of an attempt.
type next struct {
	// loaded means that all is well, again that another Job is made, bucket that it reads
	// from there. None of them: it has failed.
	loaded, again, bucket bool
	// reason and message are those of the condition.
	reason, message string
}

func (e ending) next() next {
	switch {
	case e.outcome.Succeeded:
		return next{loaded: true}
	case e.outcome.Container == jobs.FetchContainer && e.outcome.ExitCode != order.ExitDone:
		return e.notFetched()
	case e.expired:
		return e.failed("it took too long")
	case e.outcome.Container == jobs.LoadContainer:
		return e.notLoaded()
	default:
		return e.tryAgain(maxLoads)
	}
}

// notFetched returns the next step after the dump could not be fetched from the bucket.
func (e ending) notFetched() next {
	switch {
	case e.outcome.ExitCode == order.ExitFinal, e.outcome.ExitCode == order.ExitGone:
		return e.failed("the dump could not be downloaded from the bucket")
	case e.expired:
		return e.failed("downloading the dump from the bucket took too long")
	default:
		return e.tryAgain(maxFetches)
	}
}

// notLoaded returns the next step after the container that loads the dump failed.
func (e ending) notLoaded() next {
	switch e.outcome.ExitCode {
	case jobs.ExitNotEmpty:
		said := cmp.Or(e.outcome.Message, "the database is not empty")
		if e.attempt > 0 {
			said += ", and the attempt before may have loaded all of it: look before you restore again"
		}
		return next{reason: v1.ReasonDatabaseNotEmpty, message: said + ". Give spec.overwrite: true to replace what it has"}
	case jobs.ExitChecksum, jobs.ExitMissing:
		return e.notTheFile()
	default:
		return e.tryAgain(maxLoads)
	}
}

// notTheFile returns the next step after the file was missing or had another checksum.
func (e ending) notTheFile() next {
	gone := e.outcome.ExitCode == jobs.ExitMissing
	switch {
	case e.from == v1.DumpFromClaim && e.sent && gone:
		return next{again: true, bucket: true, reason: v1.ReasonRetrying, message: "the dump is not on its claim any more; taking it from the bucket"}
	case e.from == v1.DumpFromClaim && e.sent:
		return next{again: true, bucket: true, reason: v1.ReasonRetrying, message: "the dump on its claim is not what it was; taking it from the bucket"}
	case gone:
		return next{reason: v1.ReasonDumpMissing, message: "the dump is not on its claim any more, and in no bucket: " +
			"give the cluster's CloudAccount spec.objectStorage for dumps to come"}
	default:
		return next{reason: v1.ReasonLoadFailed, message: "the dump is not what it was when it was made: " + e.words() + e.left()}
	}
}

// tryAgain is another attempt, if there were fewer than so many.
func (e ending) tryAgain(most int32) next {
	if e.attempt+1 >= most {
		return e.failed(fmt.Sprintf("%d attempts failed", e.attempt+1))
	}
	return next{again: true, reason: v1.ReasonRetrying, message: fmt.Sprintf("attempt %d failed: %s; trying again", e.attempt+1, e.words())}
}

func (e ending) failed(what string) next {
	return next{reason: v1.ReasonLoadFailed, message: what + ": " + e.words() + e.left()}
}

// words are those of the Job and of its pod.
func (e ending) words() string {
	switch {
	case e.outcome.Message != "" && e.outcome.ExitCode > 0:
		return fmt.Sprintf("%s ended with %d: %s", e.outcome.Container, e.outcome.ExitCode, withoutRows(e.outcome.Message))
	case e.outcome.Why != "":
		return e.outcome.Why
	default:
		return "its pod reported no reason"
	}
}

// withoutRows takes out of an engine's words what repeats the data: that does not belong
// into a status.
func withoutRows(said string) string {
	for _, begin := range []string{"DETAIL:", "CONTEXT:", "STATEMENT:", "Command was:"} {
		if i := strings.Index(said, begin); i >= 0 {
			said = strings.TrimSpace(said[:i])
		}
	}
	return regexp.MustCompile(`(Duplicate entry|value:) '.*'`).ReplaceAllString(said, "$1 …")
}

// left describes the state of the database after it.
func (e ending) left() string {
	switch {
	case e.engine == v1.EnginePostgreSQL:
		return ". The database is as it was"
	case e.attempt == 0 && e.outcome.Container == jobs.FetchContainer && e.outcome.ExitCode != order.ExitDone:
		return ". The database is as it was"
	default:
		return ". The database may not be whole: restore this backup again, or another with spec.overwrite: true"
	}
}

// result returns the result of n for the Restore.
func (n next) result() steps.Result {
	switch {
	case n.loaded:
		return steps.Result{}
	case n.again:
		return steps.RetryAfter(steps.Transient, n.reason, "%s", n.message)
	default:
		return steps.Fail(n.reason, "%s", n.message)
	}
}
