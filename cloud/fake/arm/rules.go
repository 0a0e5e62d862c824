package arm

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

const largestBody = 1 << 20

// decode reads the body of a PUT and validates what does not depend on the state of the
// cloud.
func decode(r *http.Request, to target) (resource, answer, bool) {
	var in resource
	decoder := json.NewDecoder(io.LimitReader(r.Body, largestBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", err), false
	}
	if !validName(to.name) {
		return in, refuse(http.StatusBadRequest, "InvalidParameter", "The name '%s' is invalid: 1 to 80 letters, digits, underscores, periods and dashes are allowed.", to.name), false
	}
	if in.Location == "" {
		return in, refuse(http.StatusBadRequest, "LocationRequired", "The location property is required for this definition."), false
	}
	if in.Properties == nil || in.Properties.CreationData == nil || in.Properties.CreationData.CreateOption == "" {
		return in, refuse(http.StatusBadRequest, "InvalidParameter", "Required parameter 'creationData.createOption' is missing (null)."), false
	}
	if len(in.Zones) > 0 {
		return in, refuse(http.StatusBadRequest, "BadRequest", "The property 'zones' is not valid here."), false
	}
	if a, ok := checkTags(in.Tags); !ok {
		return in, a, false
	}
	return in, answer{}, true
}

// checkSet refuses a disk encryption set that is not in the subscription and region of what it encrypts:
// https://learn.microsoft.com/azure/virtual-machines/disk-encryption#restrictions.
func checkSet(by caller, in resource) (answer, bool) {
	e := in.Properties.Encryption
	if e == nil || e.DiskEncryptionSetID == "" {
		return answer{}, true
	}
	at, exists := by.account.Sets[strings.ToLower(e.DiskEncryptionSetID)]
	switch {
	case e.Type != "" && e.Type != customerKey:
		return refuse(http.StatusBadRequest, "InvalidParameter", "The value '%s' of parameter encryption.type is not valid with a disk encryption set.", e.Type), false
	case by.account.Sets == nil:
	case !exists:
		return refuse(http.StatusNotFound, "NotFound", "DiskEncryptionSet %s is not found.", nameOf(e.DiskEncryptionSetID)), false
	case at != region(in.Location):
		return refuse(http.StatusBadRequest, "BadRequest", "The DiskEncryptionSet %s is in location '%s', the resource in '%s'.", nameOf(e.DiskEncryptionSetID), at, in.Location), false
	}
	return answer{}, true
}

func validName(name string) bool {
	return name != "" && len(name) <= 80 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
	})
}

func checkTags(tags map[string]string) (answer, bool) {
	if len(tags) > 50 {
		return refuse(http.StatusBadRequest, "InvalidTagCount", "The maximum number of tags is 50."), false
	}
	for name, value := range tags {
		if name == "" || utf8.RuneCountInString(name) > 512 || strings.ContainsAny(name, `<>%&\?/`) {
			return refuse(http.StatusBadRequest, "InvalidTagNameCharacters", "The tag name '%s' has reserved characters '<,>,%%,&,\\,?,/' or control characters, or is longer than 512.", name), false
		}
		if utf8.RuneCountInString(value) > 256 {
			return refuse(http.StatusBadRequest, "TagValueTooLong", "The value of the tag '%s' is longer than 256 characters.", name), false
		}
	}
	return answer{}, true
}

// region returns a location in the form that is compared: East US becomes eastus.
func region(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}
