package restore

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// jobEnding returns the end of a Job, of PostgreSQL and from the claim, with the exit code of a container of its only pod.
func jobEnding(container string, code int32) ending {
	return ending{
		engine: v1.EnginePostgreSQL, from: v1.DumpFromClaim,
		outcome: memberjob.Outcome{Ended: true, Container: container, ExitCode: code, Why: "BackoffLimitExceeded", Message: "what it said"},
	}
}

// endingCase is an end of a Job, with what follows from it.
type endingCase struct {
	of      ending
	change  func(*ending)
	want    next // Its message is a part of it.
	refuses string
}

// endings returns the ends of Jobs that load a dump, by name.
func endings() map[string]endingCase {
	const load, fetch = jobs.LoadContainer, jobs.FetchContainer
	asItWas, notWhole := "The database is as it was", "may not be whole"
	mySQL := func(e *ending) { e.engine = v1.EngineMySQL }
	repeated := func(e *ending) { e.outcome.Repeated = true }
	proof := func(e *ending) { e.proof = true }
	expired := func(e *ending) { e.outcome.Expired = true }
	both := func(changes ...func(*ending)) func(*ending) {
		return func(e *ending) {
			for _, change := range changes {
				change(e)
			}
		}
	}
	failed := func(message string) next { return next{reason: v1.ReasonLoadFailed, message: message} }
	again, inBucket := next{again: true, reason: v1.ReasonRetrying}, next{again: true, bucket: true, reason: v1.ReasonRetrying}
	return map[string]endingCase{
		"loaded":             {jobEnding(load, 0), func(e *ending) { e.outcome.Succeeded = true }, next{loaded: true}, ""},
		"loaded, late":       {jobEnding(load, 0), func(e *ending) { e.outcome.Succeeded, e.outcome.Expired = true, true }, next{loaded: true}, ""},
		"not empty":          {jobEnding(load, jobs.ExitNotEmpty), nil, next{reason: v1.ReasonDatabaseNotEmpty, message: "what it said. Give spec.overwrite: true"}, "attempt before"},
		"not empty, later":   {jobEnding(load, jobs.ExitNotEmpty), repeated, next{reason: v1.ReasonDatabaseNotEmpty, message: "the attempt before may have loaded all of it"}, ""},
		"pruned":             {jobEnding(load, jobs.ExitMissing), nil, next{reason: v1.ReasonDumpMissing, message: "spec.objectStorage"}, ""},
		"pruned, and sent":   {jobEnding(load, jobs.ExitMissing), func(e *ending) { e.sent = true }, inBucket, ""},
		"damaged":            {jobEnding(load, jobs.ExitChecksum), nil, failed(asItWas), notWhole},
		"damaged, and sent":  {jobEnding(load, jobs.ExitChecksum), func(e *ending) { e.sent = true }, inBucket, ""},
		"damaged on the way": {jobEnding(load, jobs.ExitChecksum), func(e *ending) { e.sent, e.from = true, v1.DumpFromBucket }, failed(""), ""},
		"failed":             {jobEnding(load, 1), repeated, failed("all attempts failed: load ended with 1: what it said. " + asItWas), notWhole},
		"MySQL, failed":      {jobEnding(load, 1), both(mySQL, repeated), failed(notWhole), asItWas},
		"MySQL, damaged":     {jobEnding(load, jobs.ExitChecksum), mySQL, failed(notWhole), asItWas},
		"MySQL, not what was sent, later": {jobEnding(fetch, order.ExitFinal), both(mySQL, repeated),
			failed(notWhole), asItWas},
		"like psql, with 3":    {jobEnding(load, order.ExitFinal), nil, failed("all attempts failed"), ""},
		"took too long":        {jobEnding(load, 143), expired, failed("it took too long"), ""},
		"no pod was there":     {jobEnding("", memberjob.NoExitCode), nil, failed("all attempts failed: BackoffLimitExceeded"), "what it said"},
		"no pod, and too long": {jobEnding("", memberjob.NoExitCode), expired, failed("it took too long"), ""},
		"the network":          {jobEnding(fetch, order.ExitRetry), nil, failed("all attempts failed: fetch ended with 1"), ""},
		"requests refused":     {jobEnding(fetch, order.ExitRefused), nil, failed("all attempts failed"), ""},
		"a slow network":       {jobEnding(fetch, order.ExitRetry), expired, failed("downloading the dump from the bucket took too long"), ""},
		"not what was sent":    {jobEnding(fetch, order.ExitFinal), mySQL, failed(asItWas), notWhole},
		"not in the bucket":    {jobEnding(fetch, order.ExitGone), nil, failed("from the bucket"), ""},
		"brought, and no more": {jobEnding(fetch, order.ExitDone), nil, failed("all attempts failed: BackoffLimitExceeded"), "what it said"},
		"brought, and lost":    {jobEnding(fetch, order.ExitDone), both(expired, mySQL), failed(notWhole), asItWas},
		"proof, damaged":       {jobEnding(jobs.ImportContainer, jobs.ExitDamaged), proof, failed("the dump was loaded, and the database cannot be read: import ended with 23: what it said"), asItWas},
		"proof, killed":        {jobEnding(jobs.ImportContainer, 137), proof, failed("all attempts failed: import ended with 137"), asItWas},
		"proof, not loaded":    {jobEnding(load, 1), both(proof, mySQL), failed("all attempts failed: load ended with 1"), notWhole},
		"former, failed":       {jobEnding(load, 1), func(e *ending) { e.former = true }, again, ""},
		"former, expired":      {jobEnding(fetch, order.ExitRefused), func(e *ending) { e.former = true }, again, ""},
		"former, not empty":    {jobEnding(load, jobs.ExitNotEmpty), func(e *ending) { e.former = true }, next{reason: v1.ReasonDatabaseNotEmpty}, ""},
		"former, too long":     {jobEnding(load, 143), func(e *ending) { e.former, e.outcome.Expired = true, true }, failed("it took too long"), ""},
	}
}

func TestHowAJobEnded(t *testing.T) {
	t.Parallel()
	for name, tt := range endings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.change != nil {
				tt.change(&tt.of)
			}
			got := tt.of.next()
			if !strings.Contains(got.message, tt.want.message) || tt.refuses != "" && strings.Contains(got.message, tt.refuses) {
				t.Errorf("it says %q, want %q and not %q", got.message, tt.want.message, tt.refuses)
			}
			result := got.result()
			if result.Fatal == (got.again || got.loaded) || result.Stops() == got.loaded {
				t.Errorf("the result is %+v", result)
			}
			tt.want.message = got.message
			if got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	here, there := dumpTarget{here: true, claim: true}, dumpTarget{}
	inBucket := &v1.DumpObject{Bucket: "dumps", Prefix: "p", State: v1.DumpSent}
	sending := &v1.DumpObject{Bucket: "dumps", Prefix: "p", State: v1.DumpSending}
	missing := &v1.DumpObject{Bucket: "dumps", Prefix: "p", State: v1.DumpMissing}
	tests := map[string]struct {
		at     dumpTarget
		object *v1.DumpObject
		phase  v1.BackupPhase
		from   v1.DumpSource
		reason string
		fatal  bool
	}{
		"beside its claim":              {here, nil, v1.BackupCompleted, v1.DumpFromClaim, "", false},
		"beside its claim, and sent":    {here, inBucket, v1.BackupCompleted, v1.DumpFromClaim, "", false},
		"beside its claim, on its way":  {here, sending, v1.BackupFinalizing, v1.DumpFromClaim, "", false},
		"its file was not there":        {dumpTarget{here: true, claim: true, last: v1.DumpFromBucket}, inBucket, v1.BackupCompleted, v1.DumpFromBucket, "", false},
		"its claim is gone":             {dumpTarget{here: true}, nil, v1.BackupCompleted, "", v1.ReasonDumpMissing, true},
		"its claim is gone, and sent":   {dumpTarget{here: true}, inBucket, v1.BackupCompleted, v1.DumpFromBucket, "", false},
		"its claim is gone, on its way": {dumpTarget{here: true}, sending, v1.BackupFinalizing, "", v1.ReasonBackupNotReady, false},
		"elsewhere":                     {there, nil, v1.BackupCompleted, "", v1.ReasonDumpMissing, true},
		"elsewhere, and sent":           {there, inBucket, v1.BackupCompleted, v1.DumpFromBucket, "", false},
		"elsewhere, on its way":         {there, sending, v1.BackupFinalizing, "", v1.ReasonBackupNotReady, false},
		"beside its claim, and lost":    {here, missing, v1.BackupCompleted, v1.DumpFromClaim, "", false},
		"elsewhere, and lost":           {there, missing, v1.BackupCompleted, v1.DumpFromBucket, "", false},
		"elsewhere, never sent":         {there, sending, v1.BackupCompleted, "", v1.ReasonDumpMissing, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &v1.Backup{Status: v1.BackupStatus{Phase: tt.phase, Dump: &v1.DumpFile{Claim: "c", File: "f", Object: tt.object}}}
			from, result := dumpSource(b, tt.at)
			if from != tt.from || result.Reason != tt.reason || result.Fatal != tt.fatal {
				t.Errorf("%q, %+v", from, result)
			}
			b.Status.Dump.File = ""
			if _, result := dumpSource(b, tt.at); result.Reason != v1.ReasonDumpMissing {
				t.Errorf("without a file: %+v", result)
			}
		})
	}
}

// TestNoRowsInTheStatus checks that rows which an engine quotes in an error are not in the status.
func TestNoRowsInTheStatus(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`ERROR: duplicate key value violates unique constraint "u" DETAIL: Key (email)=(a@b.c) already exists. CONTEXT: COPY users, line 2`: `ERROR: duplicate key value violates unique constraint "u"`,
		`pg_restore: error: could not execute query: ERROR: no Command was: INSERT INTO x VALUES (1)`:                                       "pg_restore: error: could not execute query: ERROR: no",
		`ERROR 1062 (23000) at line 30: Duplicate entry 'a@b.c' for key 'users.email'`:                                                      "ERROR 1062 (23000) at line 30: Duplicate entry …",
		`ERROR 1227 (42000) at line 3: Access denied`:                                                                                       "ERROR 1227 (42000) at line 3: Access denied",
	} {
		if got := withoutRows(said); got != want {
			t.Errorf("%q became %q, want %q", said, got, want)
		}
	}
}
