package googleapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// value compares a value and its contents with its schema. The ID names the method whose
// request has the value; it is empty for a response.
func (a *API) value(value any, s *schema, where, id string) error {
	if s.Ref != "" {
		s = a.Schemas[s.Ref]
	}
	switch s.Type {
	case "any":
		return nil
	case "object":
		object, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object", where)
		}
		return a.object(object, s, where, id)
	case "array":
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s is no array", where)
		}
		var all []error
		for i, item := range list {
			all = append(all, a.value(item, s.Items, fmt.Sprintf("%s[%d]", where, i), id))
		}
		return errors.Join(all...)
	case "string":
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%s is no string", where)
		}
		return scalar(text, s, where)
	case "boolean":
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("%s is no boolean", where)
		}
	case "integer", "number":
		if n, ok := value.(float64); !ok || s.Type == "integer" && n != float64(int64(n)) {
			return fmt.Errorf("%s is no %s", where, s.Type)
		}
	default:
		return fmt.Errorf("%s has a schema of type %q", where, s.Type)
	}
	return nil
}

func (a *API) object(object map[string]any, s *schema, where, id string) error {
	var all []error
	for name, value := range object {
		property := s.Properties[name]
		if property == nil {
			property = s.AdditionalProperties
		}
		switch {
		case property == nil:
			all = append(all, fmt.Errorf("%s has no property %s", where, name))
		case id != "" && property.ReadOnly:
			all = append(all, fmt.Errorf("%s.%s is Google's to say", where, name))
		default:
			all = append(all, a.value(value, property, where+"."+name, id))
		}
	}
	for name, property := range s.Properties {
		if _, given := object[name]; !given && id != "" && slices.Contains(property.Annotations.Required, id) {
			all = append(all, fmt.Errorf("%s.%s is missing", where, name))
		}
	}
	return errors.Join(all...)
}

// scalar compares a text with its schema.
func scalar(text string, s *schema, where string) error {
	var err error
	switch s.Format {
	case "int64", "int32":
		_, err = strconv.ParseInt(text, 10, 64)
	case "uint64", "uint32":
		_, err = strconv.ParseUint(text, 10, 64)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s is no %s: %w", where, s.Format, err)
	case s.Type == "boolean" && text != "true" && text != "false":
		return fmt.Errorf("%s is no boolean: %q", where, text)
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, text):
		return fmt.Errorf("%s is %q, want one of %q", where, text, s.Enum)
	case s.Pattern != "" && !regexp.MustCompile("^(?:"+s.Pattern+")$").MatchString(text):
		return fmt.Errorf("%s is %q, which does not match %s", where, text, s.Pattern)
	default:
		return nil
	}
}
