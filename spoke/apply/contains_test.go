package apply

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

func TestContains(t *testing.T) {
	tests := map[string]struct {
		live, intent string
		want         bool
	}{
		"equal":                       {`{"a":1,"b":{"c":"x"}}`, `{"a":1,"b":{"c":"x"}}`, true},
		"more in live":                {`{"a":1,"b":2}`, `{"a":1}`, true},
		"less in live":                {`{"a":1}`, `{"a":1,"b":2}`, false},
		"other value":                 {`{"a":1}`, `{"a":2}`, false},
		"other type":                  {`{"a":"1"}`, `{"a":1}`, false},
		"false is not absent":         {`{}`, `{"a":false}`, false},
		"empty map asks nothing":      {`{}`, `{"a":{}}`, true},
		"empty list asks nothing":     {`{"a":[1]}`, `{"a":[]}`, true},
		"empty list where none is":    {`{}`, `{"a":[]}`, true},
		"empty list where a text is":  {`{"a":"x"}`, `{"a":[]}`, false},
		"list where none is":          {`{}`, `{"a":[1]}`, false},
		"empty map where a text is":   {`{"a":"x"}`, `{"a":{}}`, false},
		"map where none is":           {`{}`, `{"a":{"b":1}}`, false},
		"map where a text is":         {`{"a":"x"}`, `{"a":{"b":1}}`, false},
		"list where a map is":         {`{"a":{}}`, `{"a":[1]}`, false},
		"null asks nothing":           {`{}`, `{"a":null}`, true},
		"int and float":               {`{"a":1}`, `{"a":1.0}`, true},
		"large integers":              {`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		"quantity":                    {`{"limits":{"cpu":"1"}}`, `{"limits":{"cpu":"1000m"}}`, true},
		"quantity as number":          {`{"limits":{"cpu":"1"}}`, `{"limits":{"cpu":1}}`, true},
		"other quantity":              {`{"limits":{"cpu":"1"}}`, `{"limits":{"cpu":"1001m"}}`, false},
		"no quantity":                 {`{"limits":{"cpu":"0"}}`, `{"limits":{"cpu":"x"}}`, false},
		"text that looks like one":    {`{"data":{"cpu":"1"}}`, `{"data":{"cpu":"1000m"}}`, false},
		"containers in another order": {`{"containers":[{"name":"b"},{"name":"a","image":"x"}]}`, `{"containers":[{"name":"a","image":"x"}]}`, true},
		"container with other image":  {`{"containers":[{"name":"a","image":"y"}]}`, `{"containers":[{"name":"a","image":"x"}]}`, false},
		"container is gone":           {`{"containers":[{"name":"b"}]}`, `{"containers":[{"name":"a"}]}`, false},
		"variable removed":            {`{"env":[]}`, `{"env":[{"name":"A","value":"1"}]}`, false},
		"foreign variable":            {`{"env":[{"name":"B"},{"name":"A","value":"1"}]}`, `{"env":[{"name":"A","value":"1"}]}`, true},
		"variables in another order":  {`{"env":[{"name":"B"},{"name":"A"}]}`, `{"env":[{"name":"A"},{"name":"B"}]}`, false},
		"foreign variable between":    {`{"env":[{"name":"A"},{"name":"C"},{"name":"B"}]}`, `{"env":[{"name":"A"},{"name":"B"}]}`, true},
		"init containers are ordered": {`{"initContainers":[{"name":"B"},{"name":"A"}]}`, `{"initContainers":[{"name":"A"},{"name":"B"}]}`, false},
		"containers are ordered":      {`{"containers":[{"name":"B"},{"name":"A"}]}`, `{"containers":[{"name":"A"},{"name":"B"}]}`, false},
		"volumes are not ordered":     {`{"volumes":[{"name":"B"},{"name":"A"}]}`, `{"volumes":[{"name":"A"},{"name":"B"}]}`, true},
		"mounts by path":              {`{"volumeMounts":[{"mountPath":"/a","name":"x"},{"mountPath":"/b","name":"y"}]}`, `{"volumeMounts":[{"mountPath":"/b","name":"y"}]}`, true},
		"container ports":             {`{"ports":[{"containerPort":1,"protocol":"TCP"},{"containerPort":1,"protocol":"UDP"}]}`, `{"ports":[{"containerPort":1,"protocol":"UDP"}]}`, true},
		"default protocol":            {`{"ports":[{"port":80,"protocol":"TCP"}]}`, `{"ports":[{"port":80}]}`, true},
		"other protocol":              {`{"ports":[{"port":80,"protocol":"UDP"}]}`, `{"ports":[{"port":80}]}`, false},
		"ports of a policy by place":  {`{"ports":[{"endPort":1},{"endPort":2}]}`, `{"ports":[{"endPort":2}]}`, false},
		"plain list by place":         {`{"args":["a","b"]}`, `{"args":["b","a"]}`, false},
		"plain list longer":           {`{"args":["a","b"]}`, `{"args":["a"]}`, false},
		"items with defaults":         {`{"rules":[{"a":1,"default":2}]}`, `{"rules":[{"a":1}]}`, true},
		"finalizers are a set":        {`{"finalizers":["b","a"]}`, `{"finalizers":["a"]}`, true},
		"finalizer missing":           {`{"finalizers":["b"]}`, `{"finalizers":["a"]}`, false},
		"owner by UID":                {`{"ownerReferences":[{"uid":"2"},{"uid":"1","name":"x"}]}`, `{"ownerReferences":[{"uid":"1","name":"x"}]}`, true},
		"selector with one key more":  {`{"selector":{"a":"1","b":"2"}}`, `{"selector":{"a":"1"}}`, false},
		"selector of everything":      {`{"podSelector":{"matchLabels":{"a":"1"}}}`, `{"podSelector":{}}`, false},
		"selector as wanted":          {`{"selector":{"matchLabels":{"a":"1"}}}`, `{"selector":{"matchLabels":{"a":"1"}}}`, true},
		"labels with one key more":    {`{"labels":{"a":"1","b":"2"}}`, `{"labels":{"a":"1"}}`, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Contains(decode(t, tt.live), decode(t, tt.intent)); got != tt.want {
				t.Errorf("Contains(%s, %s) = %v", tt.live, tt.intent, got)
			}
		})
	}
}

// TestContainsMixed checks that a number is a text only where both are a quantity, and a list is a set only of texts.
func TestContainsMixed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		live, intent string
		want         bool
	}{
		{`{"limits":{"cpu":1}}`, `{"limits":{"cpu":"1"}}`, true},
		{`{"limits":{"cpu":2}}`, `{"limits":{"cpu":"1"}}`, false},
		{`{"data":{"cpu":1}}`, `{"data":{"cpu":"1"}}`, false},
		{`{"finalizers":[1,"a"]}`, `{"finalizers":["a"]}`, false},
	} {
		if got := Contains(decode(t, tt.live), decode(t, tt.intent)); got != tt.want {
			t.Errorf("Contains(%s, %s) = %t", tt.live, tt.intent, got)
		}
	}
}

// decode reads JSON as the API machinery does: whole numbers are int64.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	var raw map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&raw); err != nil {
		t.Skip("no object")
	}
	converted, _ := numbers(raw).(map[string]any)
	return converted
}

func numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for key, field := range v {
			v[key] = numbers(field)
		}
	case []any:
		for i, item := range v {
			v[i] = numbers(item)
		}
	}
	return value
}

// FuzzContains checks what must hold of any two objects: an object contains
// itself, and all that can be taken away from it; comparing changes nothing.
func FuzzContains(f *testing.F) {
	f.Add(`{"a":1,"spec":{"containers":[{"name":"a"},{"name":"b"}],"ports":[{"port":1}]}}`, `{"a":2}`)
	f.Add(`{"env":[{"name":"A"},{"name":"A"}],"limits":{"cpu":"1e3"}}`, `{"env":[{"name":"A","value":"x"}]}`)
	f.Add(`{"ports":[{"containerPort":1},{"containerPort":1,"protocol":"UDP"}],"finalizers":["a",1,null]}`, `{"finalizers":[]}`)
	f.Add(`{"selector":{"a":{}},"containers":[1,"x",{}],"volumeMounts":[[]]}`, `{"selector":{}}`)
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := decode(t, x), decode(t, y)
		before := encoded(t, []any{a, b})
		first := Contains(a, b)
		if Contains(a, b) != first {
			t.Error("two answers to one question")
		}
		if after := encoded(t, []any{a, b}); after != before {
			t.Errorf("comparing changed\n%s\nto\n%s", before, after)
		}
		if unambiguous(t, a) {
			containsItself(t, a)
		}
	})
}

func containsItself(t *testing.T, a map[string]any) {
	t.Helper()
	if !Contains(a, a) {
		t.Errorf("%s does not contain itself", encoded(t, a))
	}
	for key := range a {
		less := maps.Clone(a)
		delete(less, key)
		if !Contains(a, less) {
			t.Errorf("%s does not contain itself without %q", encoded(t, a), key)
		}
	}
}

// unambiguous reports whether items of lists that are matched by a key have
// different ones, as the API server sees to.
func unambiguous(t *testing.T, value any) bool {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			items, _ := field.([]any)
			if !unambiguous(t, field) || !distinct(t, items, mergeKeys(key, items)) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !unambiguous(t, item) {
				return false
			}
		}
	}
	return true
}

// distinct reports whether each item is found by its own keys.
func distinct(t *testing.T, items []any, keys []string) bool {
	t.Helper()
	for _, item := range items {
		if keys != nil && encoded(t, find(items, item, keys)) != encoded(t, item) {
			return false
		}
	}
	return true
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Skip(err)
	}
	return string(raw)
}
