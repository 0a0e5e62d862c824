package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// schedules returns cron expressions that the API accepts or refuses.
func schedules() (accepted, outOfBounds, upsideDown []string) {
	accepted = []string{
		"0 2 * * *",
		"* * * * *",
		"59 23 31 12 6",
		"0 0 1 1 0",
		"*/15 * * * *",
		"0 */6 * * *",
		"0,30 * * * *",
		"0 8-18 * * 1-5",
		"0 8-18/2 * * *",
		"5/20 * * * *",
		"00 02 01 01 *",
		"0 2,14 1-7,15-21 * *",
		"0 22 * 1,4,7,10 *",
		"10-50/10,55 * * * *",
	}
	outOfBounds = []string{
		"61 2 * * *",
		"60 * * * *",
		"0 24 * * *",
		"0 0 0 * *",
		"0 0 32 * *",
		"0 0 * 0 *",
		"0 0 * 13 *",
		"0 0 * * 7",
		"-1 * * * *",
		"* * * *",
		"* * * * * *",
		"0 2  * * *",
		" 0 2 * * *",
		"0 2 * * * ",
		"@daily",
		"0 2 * JAN *",
		"0 2 * * MON",
		"0 2 ? * *",
		"*/0 * * * *",
		"1,,2 * * * *",
		"1- * * * *",
		"daily",
		"",
		"TZ=UTC 0 2 * * *",
	}
	upsideDown = []string{"30-10 * * * *", "0 18-8 * * *", "0 0 * * 5-1", "0 0 1-7,21-15 * *"}
	return accepted, outOfBounds, upsideDown
}

func (s *server) testSchedules(t *testing.T) {
	field := func(path string) func(any) edits { return func(value any) edits { return edits{path: value} } }
	for _, target := range []struct {
		kind  kind
		field string
		set   func(any) edits
	}{
		{ecommerceApps(), "spec.database.backup.schedule", field("spec.database.backup.schedule")},
		{ecommerceApps(), "spec.database.backup.verify.schedule", field("spec.database.backup.verify.schedule")},
		{ecommerceApps(), windows + "[0].schedule", func(value any) edits { return window("schedule", value) }},
		{mySQLClusters(), "spec.backup.schedule", field("spec.backup.schedule")},
	} {
		accepted, outOfBounds, upsideDown := schedules()
		var cases []testCase
		for _, schedule := range accepted {
			cases = append(cases, testCase{name: schedule, edits: target.set(schedule)})
		}
		for _, schedule := range outOfBounds {
			cases = append(cases, testCase{
				name: schedule, edits: target.set(schedule), field: target.field,
				says: "schedule must be five fields of cron, for example 0 2 * * *: minute 0-59, hour 0-23, day of month 1-31, month 1-12, day of week 0-6",
			})
		}
		for _, schedule := range upsideDown {
			cases = append(cases, testCase{
				name: schedule, edits: target.set(schedule), field: target.field,
				says: "schedule must have its ranges from low to high, for example 1-5",
			})
		}
		t.Run(target.kind.name+"/"+target.field, func(t *testing.T) { s.check(t, target.kind, cases) })
	}
}

func backupCases() []testCase {
	const backup = "spec.database.backup"
	cases := []testCase{
		{name: "backup off without a schedule", edits: edits{backup: map[string]any{"enabled": false}}},
		{name: "no backup", edits: edits{backup: absent()}},
		{name: "schedule while off", edits: edits{backup + ".enabled": false}},
		{
			name: "backup without a schedule", edits: edits{backup + ".schedule": absent()},
			field: backup + ".schedule", says: "schedule must be set when backup is enabled",
		},
	}
	cases = append(cases, policyCases()...)
	return append(cases, zoneCases(backup+".timeZone", func(zone any) edits { return edits{backup + ".timeZone": zone} })...)
}

// zoneCases test the time zone of a schedule.
func zoneCases(field string, set func(any) edits) []testCase {
	cases := []testCase{{
		name: field + " of the machine", edits: set("Local"),
		field: field, says: "timeZone must be UTC or the IANA name of a time zone, for example Europe/Dublin",
	}}
	for _, zone := range []string{"UTC", "Europe/Dublin", "America/Argentina/Buenos_Aires", "Etc/GMT+3"} {
		cases = append(cases, testCase{name: field + " " + zone, edits: set(zone)})
	}
	for _, zone := range []string{"Europe Dublin", "+01:00", ""} {
		cases = append(cases, testCase{
			name: field + " " + zone, edits: set(zone),
			field: field, says: "should match '^[A-Za-z][A-Za-z0-9_+/-]*$'",
		})
	}
	return cases
}

// TestSchedulesHaveTheSameRules checks that what one schedule accepts is accepted by each other, of backups and of
// rollouts, and the same of time zones.
func TestSchedulesHaveTheSameRules(t *testing.T) {
	type bounds struct {
		MinLength, MaxLength *int64
		Pattern              string
		Rules                apiextensionsv1.ValidationRules
	}
	want, found := map[string]bounds{}, map[string]int{}
	for kind, schema := range schemas(t) {
		visit("", schema, func(path string, field apiextensionsv1.JSONSchemaProps) {
			name := path[strings.LastIndex(path, ".")+1:]
			if name != "schedule" && name != "timeZone" {
				return
			}
			got := bounds{field.MinLength, field.MaxLength, field.Pattern, field.XValidations}
			if found[name]++; found[name] == 1 {
				want[name] = got
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("%s: the rules of %s differ from those of another %s:\n%s", kind, path, name, diff)
			}
		})
	}
	if found["schedule"] < 4 || found["timeZone"] < 2 {
		t.Errorf("found %v, want the schedules and time zones of backups, verifications and windows", found)
	}
}
