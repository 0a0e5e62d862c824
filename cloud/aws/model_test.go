package aws_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// noOracle is the reason for skipping checks when Amazon's description of its API is missing.
const noOracle = "botocore is not there, which has Amazon's models of EC2 and STS: pip install 'moto[server]'"

// model is Amazon's description of a service, as botocore has it.
type model struct {
	Operations map[string]struct{ Input, Output *struct{ Shape string } }
	Shapes     map[string]shape
	// sts is the description of the other service.
	sts *model
}

type shape struct {
	Type     string
	Members  map[string]member
	Member   member
	Enum     []string
	Required []string
}

type member struct{ Shape, LocationName, QueryName string }

// loadModel reads the models of EC2 and STS; nil without botocore.
func loadModel(t testing.TB) *model {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import botocore, os; print(os.path.dirname(botocore.__file__))").Output()
	if err != nil {
		t.Log(noOracle)
		return nil
	}
	data := filepath.Join(strings.TrimSpace(string(out)), "data")
	m := readModel(t, filepath.Join(data, "ec2", "2016-11-15"))
	m.sts = readModel(t, filepath.Join(data, "sts", "2011-06-15"))
	return m
}

// readModel reads a model, which newer versions of botocore compress.
func readModel(t testing.TB, folder string) *model {
	t.Helper()
	var in io.Reader
	file, err := os.Open(filepath.Join(folder, "service-2.json.gz"))
	if err == nil {
		in, err = gzip.NewReader(file)
	} else {
		file, err = os.Open(filepath.Join(folder, "service-2.json"))
		in = file
	}
	if err != nil {
		t.Fatalf("reading the model: %v", err)
	}
	defer func() { _ = file.Close() }()
	var m model
	if err := json.NewDecoder(in).Decode(&m); err != nil {
		t.Fatalf("reading the model: %v", err)
	}
	return &m
}

// request checks a recorded request: its operation, its parameters and their values.
func (m *model) request(recorded string) error {
	_, body, _ := strings.Cut(recorded, "\n")
	form, err := url.ParseQuery(body)
	if err != nil {
		return fmt.Errorf("reading the form: %w", err)
	}
	action := form.Get("Action")
	if form.Get("Version") == "2011-06-15" {
		m = m.sts
	}
	operation, ok := m.Operations[action]
	if !ok || operation.Input == nil {
		return fmt.Errorf("there is no operation %q", action)
	}
	form.Del("Action")
	form.Del("Version")
	for key, values := range form {
		if len(values) != 1 {
			return fmt.Errorf("%s is given %d times", key, len(values))
		}
		if err := m.parameter(operation.Input.Shape, strings.Split(key, "."), values[0]); err != nil {
			return fmt.Errorf("%s of %s: %w", key, action, err)
		}
	}
	for _, name := range m.Shapes[operation.Input.Shape].Required {
		wire := wireName(name, m.Shapes[operation.Input.Shape].Members[name])
		if !form.Has(wire) && !form.Has(wire+".1") {
			return fmt.Errorf("%s lacks %s", action, wire)
		}
	}
	return nil
}

// wireName returns the name of a member in a request: EC2 capitalizes the first letter
// of its locationName.
func wireName(name string, m member) string {
	switch {
	case m.QueryName != "":
		return m.QueryName
	case m.LocationName != "":
		r := []rune(m.LocationName)
		return string(unicode.ToUpper(r[0])) + string(r[1:])
	default:
		return name
	}
}

// parameter checks one parameter, whose flattened name is split at its dots.
func (m *model) parameter(name string, path []string, value string) error {
	s := m.Shapes[name]
	switch {
	case s.Type == "structure" && len(path) > 0:
		for member, of := range s.Members {
			if wireName(member, of) == path[0] {
				return m.parameter(of.Shape, path[1:], value)
			}
		}
		return fmt.Errorf("%s has no %q", name, path[0])
	case s.Type == "list" && len(path) > 0:
		if n, err := strconv.Atoi(path[0]); err != nil || n < 1 {
			return fmt.Errorf("%q is no place in a list", path[0])
		}
		return m.parameter(s.Member.Shape, path[1:], value)
	case len(path) > 0 || s.Type == "structure" || s.Type == "list":
		return fmt.Errorf("%s is a %s", name, s.Type)
	}
	return s.value(value)
}

func (s shape) value(value string) error {
	var err error
	switch s.Type {
	case "integer", "long":
		_, err = strconv.ParseInt(value, 10, 64)
	case "boolean":
		_, err = strconv.ParseBool(value)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		err = fmt.Errorf("%q is none of %q", value, s.Enum)
	}
	return err
}

func TestModelRefuses(t *testing.T) {
	t.Parallel()
	m := loadModel(t)
	if m == nil {
		t.Skip(noOracle)
	}
	for name, body := range map[string]string{
		"operation": "Action=CreateSnapsot&Version=2016-11-15&VolumeId=vol-1",
		"parameter": "Action=CreateSnapshot&Version=2016-11-15&VolumeId=vol-1&Name=x",
		"missing":   "Action=CreateSnapshot&Version=2016-11-15&Description=x",
		"list":      "Action=DescribeSnapshots&Version=2016-11-15&SnapshotId=snap-1",
		"nested":    "Action=CreateSnapshot&Version=2016-11-15&VolumeId=vol-1&TagSpecification.1.Tags.1.Key=x",
		"enum":      "Action=CreateSnapshot&Version=2016-11-15&VolumeId=vol-1&TagSpecification.1.ResourceType=snap",
		"number":    "Action=DescribeSnapshots&Version=2016-11-15&MaxResults=many",
		"twice":     "Action=CreateSnapshot&Version=2016-11-15&VolumeId=vol-1&VolumeId=vol-2",
		"sts":       "Action=AssumeRole&Version=2011-06-15&RoleArn=x",
	} {
		if err := m.request("POST /\n" + body); err == nil {
			t.Errorf("%s: %s passes", name, body)
		}
	}
	good := "Action=CreateSnapshot&Version=2016-11-15&VolumeId=vol-1&TagSpecification.1.ResourceType=snapshot&TagSpecification.1.Tag.1.Key=x&TagSpecification.1.Tag.1.Value=y"
	if err := m.request("POST /\n" + good); err != nil {
		t.Errorf("%s: %v", good, err)
	}
}
