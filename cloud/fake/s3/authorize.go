package s3

import (
	"fmt"
	"net/http"

	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// authorize refuses a request that the policy of its signer does not allow.
func (s *Server) authorize(in *request) *fault {
	for _, r := range s.asked(in) {
		if in.who.Policy.Allows(r) {
			continue
		}
		s.log.Refuse(r.Action + " on " + r.Resource)
		return refuse(http.StatusForbidden, "AccessDenied", fmt.Sprintf("User: %s is not authorized to perform: %s on resource: %q "+
			"because no identity-based policy allows the %s action", in.who.ARN, r.Action, r.Resource, r.Action))
	}
	return nil
}

// asked returns the authorizations that a request needs. Objects that are encrypted with a
// customer managed key need the key: https://repost.aws/knowledge-center/s3-bucket-access-default-encryption.
func (s *Server) asked(in *request) []iam.Request {
	if in.key == "" {
		prefix := map[string][]string{}
		if in.URL.Query().Has("prefix") {
			prefix["s3:prefix"] = []string{in.URL.Query().Get("prefix")}
		}
		action := "s3:ListBucket"
		if in.URL.Query().Has("versions") {
			action = "s3:ListBucketVersions"
		}
		return []iam.Request{{Action: action, Resource: s.arn(), Context: prefix}}
	}
	action, use := "s3:GetObject", "kms:Decrypt"
	switch in.Method {
	case http.MethodPut:
		action, use = "s3:PutObject", "kms:GenerateDataKey"
	case http.MethodHead:
		use = "" // Nothing is decrypted.
	case http.MethodDelete:
		action, use = "s3:DeleteObject", ""
		if in.URL.Query().Has("versionId") {
			action = "s3:DeleteObjectVersion"
		}
	}
	out := []iam.Request{{Action: action, Resource: s.arn() + "/" + in.key}}
	if s.KMSKey != "" && use != "" {
		out = append(out, iam.Request{Action: use, Resource: s.KMSKey})
	}
	return out
}

// mayList reports whether the signer of a request may list the bucket: a missing object is 404
// to whom may, and 403 to others.
func (s *Server) mayList(in *request) bool {
	return in.who.Policy.Allows(iam.Request{Action: "s3:ListBucket", Resource: s.arn()})
}

func (s *Server) arn() string { return "arn:aws:s3:::" + s.Bucket }
