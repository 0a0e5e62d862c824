package database

import (
	"slices"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// asksPosition runs the command that the hub runs before a snapshot.
func (p *pod) asksPosition(t *testing.T) (string, error) {
	t.Helper()
	var command []string
	for _, arg := range SnapshotCommand(p.spec.Engine) {
		arg = strings.ReplaceAll(p.local(arg), "/var/run/mysqld/mysqld.sock", p.dir+"/run/socket")
		command = append(command, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	return p.run(t, strings.Join(command, " "))
}

// TestSnapshotPostgreSQL has a real server write a checkpoint and tell its position, by the command that the hub runs: the position
// is after what was there before, and not after the checkpoint.
func TestSnapshotPostgreSQL(t *testing.T) {
	usePostgreSQL(t)
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	spec.Replicas = 2
	p, standby := newPod(t, spec, "shop-database-0"), newPod(t, spec, "shop-database-1")
	standby.primaryPort = p.port
	p.must(t, "sh "+p.etc+"/prepare.sh")
	p.serve(t)
	ask := `psql --no-psqlrc --quiet --tuples-only --no-align --field-separator=' ' --host=` + p.dir + `/run --port=` + p.port + ` --username=postgres --dbname=postgres --command=`
	checkpoint := func() string { return p.must(t, ask+`"SELECT checkpoint_lsn FROM pg_control_checkpoint()"`) }
	for range 2 { // The second time the database is idle.
		before := checkpoint()
		said, err := p.asksPosition(t)
		if err != nil {
			t.Fatal(said, err)
		}
		position := Position(v1.EnginePostgreSQL, said)
		fields := append(strings.Fields(position), "", "", "")
		compared := p.must(t, ask+`"SELECT '`+strings.TrimSpace(before)+`' < '`+fields[2]+`'::pg_lsn AND '`+fields[2]+`'::pg_lsn <= checkpoint_lsn,
  system_identifier || ' ' || timeline_id FROM pg_control_checkpoint(), pg_control_system()"`)
		if strings.TrimSpace(compared) != "t "+fields[0]+" "+fields[1] {
			t.Errorf("the position is %q, after a checkpoint at %s: %s", position, before, compared)
		}
	}
	last := checkpoint()
	p.must(t, ask+`"ALTER SYSTEM SET fsync = off" --command="SELECT pg_reload_conf()"`)
	eventually(t, func() bool { return strings.TrimSpace(p.must(t, ask+`"SHOW fsync"`)) == "off" })
	if said, err := p.asksPosition(t); err != nil || said != "" || checkpoint() == last {
		t.Errorf("without fsync it says %q, %v", said, err)
	}
	last = checkpoint()
	p.must(t, ask+`"ALTER FUNCTION pg_control_system RENAME TO other"`)
	if said, err := p.asksPosition(t); err != nil || Position(v1.EnginePostgreSQL, said) != "" || checkpoint() == last {
		t.Errorf("without a position it says %q, %v", said, err)
	}
	p.must(t, ask+`"ALTER FUNCTION other RENAME TO pg_control_system"`)

	standby.must(t, "sh "+standby.etc+"/prepare.sh")
	standby.serve(t)
	if said, err := standby.asksPosition(t); err != nil || said != "" {
		t.Errorf("a standby says %q, %v", said, err)
	}
	standby.stop(t)
	p.stop(t)
	if said, err := p.asksPosition(t); err == nil {
		t.Errorf("the command succeeded without a server: %s", said)
	}
}

// TestSnapshotMariaDB checks that the command logs in to a real server, which has no GTIDs of MySQL. Those are not shown.
func TestSnapshotMariaDB(t *testing.T) {
	p := newMariaDB(t)
	said, err := p.asksPosition(t)
	if err == nil || !strings.Contains(said, "Unknown system variable 'gtid_") || Position(v1.EngineMySQL, said) != "" {
		t.Errorf("it says %q, %v", said, err)
	}
}

// TestPosition checks that nothing but a position is taken for one.
func TestPosition(t *testing.T) {
	t.Parallel()
	const (
		server = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
		other  = "4e11fa47-71ca-11e1-9e33-c80aa9429562"
	)
	for name, tt := range map[string]struct {
		engine   v1.Engine
		output   string
		accepted bool
	}{
		"postgresql":               {v1.EnginePostgreSQL, "7412345678901234567 1 0/16B3748\n", true},
		"as it is recorded":        {v1.EnginePostgreSQL, "7412345678901234567 12 A/16B3748", true},
		"nothing":                  {v1.EnginePostgreSQL, "", false},
		"a line too many":          {v1.EnginePostgreSQL, "7412345678901234567 1 0/16B3748\nx\n", false},
		"an empty line too many":   {v1.EnginePostgreSQL, "7412345678901234567 1 0/16B3748\n\n", false},
		"a command":                {v1.EnginePostgreSQL, "7412345678901234567 1 0/$(reboot)\n", false},
		"no number":                {v1.EnginePostgreSQL, "-1 1 0/16B3748\n", false},
		"too long a number":        {v1.EnginePostgreSQL, "7412345678901234567 1 0/116B374811\n", false},
		"one of mysql":             {v1.EnginePostgreSQL, server + ":1-5\n", false},
		"mysql":                    {v1.EngineMySQL, server + ":1-5\n", true},
		"one transaction":          {v1.EngineMySQL, server + ":1", true},
		"with gaps":                {v1.EngineMySQL, server + ":1-5:7:9-12\n", true},
		"of two servers":           {v1.EngineMySQL, server + ":1-5," + other + ":1\n", true},
		"with tags":                {v1.EngineMySQL, server + ":1-5:shop:1-3:7:other_2:1\n", true},
		"no transaction":           {v1.EngineMySQL, "\n", false},
		"NULL":                     {v1.EngineMySQL, "NULL\n", false},
		"a server alone":           {v1.EngineMySQL, server + "\n", false},
		"a tag alone":              {v1.EngineMySQL, server + ":shop\n", false},
		"two lines":                {v1.EngineMySQL, server + ":1-5,\n" + other + ":1\n", false},
		"a quote":                  {v1.EngineMySQL, server + ":1-5'\n", false},
		"one of postgresql":        {v1.EngineMySQL, "7412345678901234567 1 0/16B3748\n", false},
		"of as many as a tag has":  {v1.EngineMySQL, server + strings.Repeat(":1", 110), true},
		"of more than a tag has":   {v1.EngineMySQL, server + strings.Repeat(":1", 111), false},
		"cut off, but well formed": {v1.EngineMySQL, strings.Repeat(server+":1-5,", 97) + server + ":1", false},
	} {
		want := ""
		if tt.accepted {
			want = strings.TrimSpace(tt.output)
		}
		if got := Position(tt.engine, tt.output); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestSnapshotCommand checks that the time of the command is bounded.
func TestSnapshotCommand(t *testing.T) {
	t.Parallel()
	for _, engine := range []v1.Engine{v1.EnginePostgreSQL, v1.EngineMySQL} {
		if got := SnapshotCommand(engine); !slices.Equal(got[:2], []string{"timeout", "30"}) {
			t.Errorf("%s: %q", engine, got)
		}
	}
}
