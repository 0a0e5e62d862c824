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

// ending is how the Job that loads a dump ended.
type ending struct {
	engine v1.Engine
	// from records the source that the Job read the dump from, and sent reports whether all
	// of the dump is in a bucket.
	from v1.DumpSource
	sent bool
	// former is true for a Job of the build before, which had one pod, and proof for one that verifies the dump.
	former  bool
	proof   bool
	outcome memberjob.Outcome
}

// next represents the step that follows the end of a Job.
type next struct {
	// loaded means that all is well, again that another Job is made, bucket that it reads
	// from there. None of them: it has failed.
	loaded, again, bucket bool
	// reason and message are those of the condition.
	reason, message string
}

func (e ending) next() next {
	out := e.outcome
	switch {
	case out.Succeeded:
		return next{loaded: true}
	case e.isFetching() && (out.ExitCode == order.ExitFinal || out.ExitCode == order.ExitGone):
		return e.failed("the dump could not be downloaded from the bucket")
	case e.isFetching() && out.Expired:
		return e.failed("downloading the dump from the bucket took too long")
	case out.Expired:
		return e.failed("it took too long")
	case out.Container == jobs.LoadContainer && out.ExitCode == jobs.ExitNotEmpty:
		return e.notEmpty()
	case out.Container == jobs.LoadContainer && (out.ExitCode == jobs.ExitChecksum || out.ExitCode == jobs.ExitMissing):
		return e.notTheFile()
	case out.Container == jobs.ImportContainer && jobs.ExitNoData <= out.ExitCode && out.ExitCode <= jobs.ExitOlder:
		return e.failed("the dump was loaded, and the database cannot be read")
	case e.former:
		return next{again: true, reason: v1.ReasonRetrying, message: "an attempt failed: " + words(out) + "; trying again"}
	default:
		return e.failed("all attempts failed")
	}
}

// isFetching reports whether the last pod ended while it downloaded the dump.
func (e ending) isFetching() bool {
	return e.outcome.Container == jobs.FetchContainer && e.outcome.ExitCode != order.ExitDone
}

func (e ending) notEmpty() next {
	said := cmp.Or(e.outcome.Message, "the database is not empty")
	if e.outcome.Repeated {
		said += ", and the attempt before may have loaded all of it: look before you restore again"
	}
	return next{reason: v1.ReasonDatabaseNotEmpty, message: said + ". Give spec.overwrite: true to replace what it has"}
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
		return next{reason: v1.ReasonLoadFailed, message: "the dump is not what it was when it was made: " + words(e.outcome) + e.left()}
	}
}

func (e ending) failed(what string) next {
	return next{reason: v1.ReasonLoadFailed, message: what + ": " + words(e.outcome) + e.left()}
}

// words are those of a Job and of its last pod.
func words(out memberjob.Outcome) string {
	switch {
	case out.Message != "" && out.ExitCode > 0:
		return fmt.Sprintf("%s ended with %d: %s", out.Container, out.ExitCode, withoutRows(out.Message))
	case out.Why != "":
		return out.Why
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
	case e.proof:
		return ""
	case e.engine == v1.EnginePostgreSQL:
		return ". The database is as it was"
	case !e.outcome.Repeated && e.isFetching():
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
