package aws_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
)

// result holds the fields of an error that callers act on.
type result struct {
	Class cloud.Class
	Code  string
	After time.Duration
}

func resultOf(t *testing.T, err error) result {
	t.Helper()
	var e *cloud.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is not a *cloud.Error", err)
	}
	return result{Class: e.Class, Code: e.Code, After: e.RetryAfter}
}

// answered makes a session whose lists and creations are answered with something else
// than EC2 would, and a snapshot to ask for.
func answered(t *testing.T, answer faults.Answer) (cloud.Session, cloud.SnapshotSpec) {
	t.Helper()
	e := newTestEnv(t)
	spec := cloud.SnapshotSpec{Name: "eb-errors", Source: e.disks()(t, "data", 20*gib), MaySend: true, Tags: cloud.Tags{cloud.TagHub: cloudtest.HubUID, cloud.TagApp: "app"}}
	for _, op := range []faults.Op{faults.OpCreateSnapshot, faults.OpListSnapshots} {
		e.script.Add(faults.Fault{Op: op, Times: -1, Kind: faults.Refuse, Answer: answer})
	}
	return e.session(t, cloudtest.Options{}), spec
}

func firstOfList(t *testing.T, session cloud.Session) error {
	t.Helper()
	for _, err := range session.Snapshots.ListSnapshots(t.Context(), cloud.Owner{Hub: cloudtest.HubUID}) {
		return err
	}
	return nil
}

func TestCodes(t *testing.T) {
	t.Parallel()
	const (
		bad, denied, unknown = http.StatusBadRequest, http.StatusForbidden, http.StatusUnauthorized
		down, broken         = http.StatusServiceUnavailable, http.StatusInternalServerError
	)
	for _, test := range []struct {
		code         string
		status       int
		change, read result
	}{
		{"InvalidSnapshot.NotFound", bad, result{Class: cloud.ClassNotFound}, result{Class: cloud.ClassNotFound}},
		{"InvalidVolume.NotFound", bad, result{Class: cloud.ClassNotFound}, result{Class: cloud.ClassNotFound}},
		{"RequestLimitExceeded", down, result{Class: cloud.ClassThrottled, After: 5 * time.Second}, result{Class: cloud.ClassThrottled, After: 5 * time.Second}},
		{"Throttling", bad, result{Class: cloud.ClassThrottled, After: 5 * time.Second}, result{Class: cloud.ClassThrottled, After: 5 * time.Second}},
		{"SomethingNew", http.StatusTooManyRequests, result{Class: cloud.ClassThrottled, After: 5 * time.Second}, result{Class: cloud.ClassThrottled, After: 5 * time.Second}},
		{
			"SnapshotCreationPerVolumeRateExceeded", bad,
			result{Class: cloud.ClassThrottled, After: 15 * time.Second}, result{Class: cloud.ClassThrottled, After: 15 * time.Second},
		},
		{"ConcurrentSnapshotLimitExceeded", bad, result{Class: cloud.ClassQuota, After: time.Minute}, result{Class: cloud.ClassQuota, After: time.Minute}},
		{"ResourceLimitExceeded", bad, result{Class: cloud.ClassQuota, After: time.Minute}, result{Class: cloud.ClassQuota, After: time.Minute}},
		{"SnapshotLimitExceeded", bad, result{Class: cloud.ClassQuota, After: 30 * time.Minute}, result{Class: cloud.ClassQuota, After: 30 * time.Minute}},
		{
			"UnauthorizedOperation", denied,
			result{Class: cloud.ClassDenied, Code: "ec2:CreateSnapshot"}, result{Class: cloud.ClassDenied, Code: "ec2:DescribeSnapshots"},
		},
		{"AuthFailure", unknown, result{Class: cloud.ClassAuthExpired}, result{Class: cloud.ClassAuthExpired}},
		{"RequestExpired", bad, result{Class: cloud.ClassAuthExpired}, result{Class: cloud.ClassAuthExpired}},
		{"InvalidSnapshot.InUse", bad, result{Class: cloud.ClassInUse}, result{Class: cloud.ClassInUse}},
		{"OperationNotPermitted", bad, result{Class: cloud.ClassInvalid}, result{Class: cloud.ClassInvalid}},
		{"UnsupportedOperation", bad, result{Class: cloud.ClassUnsupported}, result{Class: cloud.ClassUnsupported}},
		{"IncorrectState", bad, result{Class: cloud.ClassTransient}, result{Class: cloud.ClassTransient}},
		{"InvalidParameterValue", bad, result{Class: cloud.ClassInvalid}, result{Class: cloud.ClassInvalid}},
		{"UnknownCode", bad, result{Class: cloud.ClassInvalid}, result{Class: cloud.ClassInvalid}},
		{"InternalError", broken, result{Class: cloud.ClassAmbiguous}, result{Class: cloud.ClassTransient}},
		{"Unavailable", down, result{Class: cloud.ClassAmbiguous}, result{Class: cloud.ClassTransient}},
		{"UnknownCode", broken, result{Class: cloud.ClassAmbiguous}, result{Class: cloud.ClassTransient}},
	} {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			if test.change.Class != cloud.ClassDenied {
				test.change.Code, test.read.Code = test.code, test.code
			}
			session, spec := answered(t, faults.Answer{Status: test.status, Body: ec2.ErrorBody(test.code, "No.")})
			_, err := session.Snapshots.EnsureSnapshot(t.Context(), spec)
			if diff := cmp.Diff(test.change, resultOf(t, err)); diff != "" {
				t.Errorf("a change (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.read, resultOf(t, firstOfList(t, session))); diff != "" {
				t.Errorf("a read (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLockedIsOfDeletionAlone checks that the code means Locked for deletions only.
func TestLockedIsOfDeletionAlone(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session := e.session(t, cloudtest.Options{})
	spec := cloud.SnapshotSpec{Name: "eb-locked", Source: e.disks()(t, "data", gib), MaySend: true, Tags: cloud.Tags{cloud.TagHub: cloudtest.HubUID}}
	made, err := session.Snapshots.EnsureSnapshot(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	e.script.Add(faults.Fault{Op: faults.OpDeleteSnapshot, Kind: faults.Refuse, Answer: refuse(cloud.ClassLocked, faults.OpDeleteSnapshot, 0)})
	err = session.Snapshots.DeleteSnapshot(t.Context(), made.Ref, cloud.Owner{Hub: cloudtest.HubUID})
	if got := cloud.ClassOf(err); got != cloud.ClassLocked {
		t.Errorf("class %q of %v, want %q", got, err, cloud.ClassLocked)
	}
}

// TestAnswersThatAreNone checks that responses that are incomplete or not from EC2 do not become an empty list.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]faults.Answer{
		"nothing":          {Status: http.StatusOK},
		"page":             {Status: http.StatusOK, Body: "<html><body>Please log in</body></html>"},
		"another document": {Status: http.StatusOK, Body: "<a/>"},
		"half of one":      {Status: http.StatusOK, Body: "<DescribeSnapshotsResponse><snapshotSet></snapshotSet>"},
		"json":             {Status: http.StatusOK, Body: "{}"},
		"redirection":      {Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"https://elsewhere.example"}}},
		"proxy's refusal":  {Status: http.StatusForbidden, Body: "<html>no</html>"},
		"proxy's trouble":  {Status: http.StatusBadGateway, Body: "bad gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, spec := answered(t, answer)
			if err := firstOfList(t, session); cloud.ClassOf(err) != cloud.ClassTransient {
				t.Errorf("a read: class %q of %v, want %q", cloud.ClassOf(err), err, cloud.ClassTransient)
			}
			if _, err := session.Snapshots.EnsureSnapshot(t.Context(), spec); cloud.ClassOf(err) != cloud.ClassAmbiguous {
				t.Errorf("a change: class %q of %v, want %q", cloud.ClassOf(err), err, cloud.ClassAmbiguous)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	session, _ := answered(t, faults.Answer{Status: http.StatusBadRequest, Body: ec2.ErrorBody("InvalidParameterValue",
		"first line\r\n\tsecond https://ec2.eu-west-1.amazonaws.com/?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE&X-Amz-Signature=abc "+
			"key ASIAIOSFODNN7EXAMPLE Ω"+strings.Repeat("Ω", 1000))})
	var e *cloud.Error
	if err := firstOfList(t, session); !errors.As(err, &e) {
		t.Fatalf("%v is not a *cloud.Error", err)
	}
	want := "first line second https://ec2.eu-west-1.amazonaws.com/ key ASIA… ΩΩ"
	if !strings.HasPrefix(e.Message, want) || len(e.Message) > 1024 || !strings.HasSuffix(e.Message, "...") {
		t.Errorf("message of %d bytes %q, want one of at most 1024 that begins with %q", len(e.Message), e.Message, want)
	}
	if strings.ToValidUTF8(e.Message, "") != e.Message {
		t.Error("the message was cut within a character")
	}

	session, _ = answered(t, refuse(cloud.ClassDenied, faults.OpListSnapshots, 0))
	if err := firstOfList(t, session); !errors.As(err, &e) || strings.Contains(err.Error(), "c2VjcmV0") {
		t.Errorf("%v has the encoded message that only a user with another permission can decode", err)
	}
	if e.Code != "ec2:ListSnapshots" {
		t.Errorf("the permission is %q, want that which the message names", e.Code)
	}
}

// hung is a network in which nothing answers.
type hung struct{ asked chan<- struct{} }

func (h hung) RoundTrip(r *http.Request) (*http.Response, error) {
	h.asked <- struct{}{}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	config := newTestEnv(t).config()
	config.HTTP.Transport = hung{asked}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed, session := make(chan error), connect(t, config)
	go func() {
		_, err := session.Snapshots.GetSnapshot(ctx, cloud.SnapshotRef{Region: here, ID: "snap-0123456789abcdef0"})
		failed <- err
	}()
	<-asked
	cancel()
	err := <-failed
	if cloud.ClassOf(err) != cloud.ClassTransient || !errors.Is(err, context.Canceled) {
		t.Errorf("class %q of %v, want %q because of the cancellation", cloud.ClassOf(err), err, cloud.ClassTransient)
	}
}

// endless is an answer that never ends.
type endless struct{}

func (endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(spaces{}), Request: r}, nil
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	config := newTestEnv(t).config()
	config.HTTP.Transport = endless{}
	if _, err := connect(t, config).Access.Identity(t.Context()); cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("class %q of %v, want %q", cloud.ClassOf(err), err, cloud.ClassTransient)
	}
}
