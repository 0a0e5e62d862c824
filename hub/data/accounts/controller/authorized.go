package controller

import (
	"errors"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// regionChecks are the permission checks in a region, or the error that prevented them.
type regionChecks struct {
	region string
	checks []cloud.PermissionCheck
	err    error
}

// authorized returns the condition Authorized: what was granted, what is missing and what was
// not checked, for each region.
func authorized(regions []regionChecks) metav1.Condition {
	missing, failed, granted, unchecked := clauses{}, clauses{}, clauses{}, clauses{}
	for _, r := range regions {
		if r.err != nil {
			failed.add(whyUnknown(r.err), r.region)
			continue
		}
		lacks, has, open := []string{}, map[string][]string{}, map[string][]string{}
		for _, c := range r.checks {
			switch name := nameOf(c); {
			case c.Unchecked != "":
				open[c.Unchecked] = append(open[c.Unchecked], name)
			case c.Granted:
				has[c.By] = append(has[c.By], name)
			default:
				lacks = append(lacks, name)
			}
		}
		if len(lacks) > 0 {
			missing.add(list(lacks), r.region)
		}
		for by, names := range has {
			granted.add(list(names)+" by "+by, r.region)
		}
		for reason, names := range open {
			unchecked.add(list(names)+" ("+reason+")", r.region)
		}
	}
	switch {
	case len(missing) > 0:
		message := "the identity lacks " + missing.String() + ": grant it the permissions of cloud/README.md"
		return no(v1.ReasonPermissionsMissing, message+failed.after("; the permissions are not known, because "))
	case len(failed) > 0:
		message := "the permissions are not known, because " + failed.String()
		return unknown(v1.ReasonNotChecked, message+granted.after("; granted: ")+unchecked.after("; not checked: "))
	case len(granted) == 0:
		return unknown(v1.ReasonNotChecked, "no permission could be checked"+unchecked.after(": "))
	}
	return metav1.Condition{
		Status: metav1.ConditionTrue, Reason: v1.ReasonAuthorized,
		Message: "The hub was granted " + granted.String() + unchecked.after("; not checked: "),
	}
}

func nameOf(c cloud.PermissionCheck) string {
	if c.Scope == "" {
		return c.Permission
	}
	return c.Permission + " on " + c.Scope
}

// whyUnknown returns why the permissions of a region are not known, without what differs
// from request to request.
func whyUnknown(err error) string {
	e, fromCloud := errors.AsType[*cloud.Error](err)
	switch {
	case !fromCloud:
		return "the provider cannot be reached"
	case e.Class == cloud.ClassThrottled:
		return "the provider throttles requests"
	case e.Class == cloud.ClassAuthExpired:
		return "the provider rejects the credentials, as it does where a region is not enabled" + codeSuffix(e)
	case isTransient(e):
		return "the provider does not answer"
	case e.Class == cloud.ClassInvalid || e.Class == cloud.ClassUnsupported:
		return e.Message
	default:
		return "the provider refuses to test them" + codeSuffix(e)
	}
}

// clauses are regions by what is said about them.
type clauses map[string][]string

func (c clauses) add(text, region string) { c[text] = append(c[text], region) }

// String returns the clauses in a stable order, each with its regions.
func (c clauses) String() string {
	parts := make([]string, 0, len(c))
	for _, text := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, text+" in "+list(c[text]))
	}
	return strings.Join(parts, ", ")
}

// after returns the clauses behind an introduction, and nothing if there are none.
func (c clauses) after(introduction string) string {
	if len(c) == 0 {
		return ""
	}
	return introduction + c.String()
}

// list returns names without repetition, sorted.
func list(names []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}
