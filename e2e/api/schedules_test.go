package api_test

import "testing"

// schedules are cron expressions that the API accepts or refuses.
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
	for _, target := range []struct {
		kind  kind
		field string
	}{
		{ecommerceApps(), "spec.database.backup.schedule"},
		{ecommerceApps(), "spec.database.backup.verify.schedule"},
		{mySQLClusters(), "spec.backup.schedule"},
	} {
		accepted, outOfBounds, upsideDown := schedules()
		var cases []testCase
		for _, schedule := range accepted {
			cases = append(cases, testCase{name: schedule, edits: edits{target.field: schedule}})
		}
		for _, schedule := range outOfBounds {
			cases = append(cases, testCase{
				name: schedule, edits: edits{target.field: schedule}, field: target.field,
				says: "schedule must be five fields of cron, for example 0 2 * * *: minute 0-59, hour 0-23, day of month 1-31, month 1-12, day of week 0-6",
			})
		}
		for _, schedule := range upsideDown {
			cases = append(cases, testCase{
				name: schedule, edits: edits{target.field: schedule}, field: target.field,
				says: "schedule must have its ranges from low to high, for example 1-5",
			})
		}
		t.Run(target.kind.name, func(t *testing.T) { s.check(t, target.kind, cases) })
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
		{
			name: "time zone of the machine", edits: edits{backup + ".timeZone": "Local"},
			field: backup + ".timeZone", says: "timeZone must be UTC or the IANA name of a time zone, for example Europe/Dublin",
		},
	}
	cases = append(cases, policyCases()...)
	for _, zone := range []string{"UTC", "Europe/Dublin", "America/Argentina/Buenos_Aires", "Etc/GMT+3"} {
		cases = append(cases, testCase{name: "zone " + zone, edits: edits{backup + ".timeZone": zone}})
	}
	for _, zone := range []string{"Europe Dublin", "+01:00", ""} {
		cases = append(cases, testCase{
			name: "zone " + zone, edits: edits{backup + ".timeZone": zone},
			field: backup + ".timeZone", says: "should match '^[A-Za-z][A-Za-z0-9_+/-]*$'",
		})
	}
	return cases
}
