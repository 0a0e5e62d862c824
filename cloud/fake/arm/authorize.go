package arm

import (
	"net/http"
	"strings"

	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// caller is an application, and the account that it uses.
type caller struct {
	account Account
	client  string
}

// may reports whether the caller's role on a resource group includes an action.
func (s *Server) may(by caller, group, action string) bool {
	if s.isDenied(by.account.Subscription, action) {
		return false
	}
	if by.account.Roles == nil {
		return true
	}
	role := by.account.Roles[strings.ToLower(group)]
	if role == nil || !role.Allows(action) {
		s.log.Refuse(action + " on resource group " + group)
		return false
	}
	return true
}

// authorize refuses a request whose action the caller may not perform on its scope.
func (s *Server) authorize(r *http.Request, by caller, to target) (answer, bool) {
	action := to.action(r.Method)
	if s.may(by, to.group, action) {
		return answer{}, true
	}
	return refuse(http.StatusForbidden, "AuthorizationFailed",
		"The client '%s' with object id '%s' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.",
		by.client, by.client, action, r.URL.Path), false
}

// link is a resource that a body refers to, and the action that this needs.
type link struct{ action, id string }

// links returns what a body links to. These are the linked scopes that Azure is known to
// check: https://github.com/Azure/OpenShift/issues/186 for the source disk of a
// snapshot, and https://github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2609 for a disk
// encryption set.
func (t target) links(in resource) []link {
	var out []link
	if data := in.Properties.CreationData; data.CreateOption == optionCopy {
		out = append(out, link{"Microsoft.Compute/disks/beginGetAccess/action", data.SourceResourceID})
	}
	if e := in.Properties.Encryption; e != nil && e.DiskEncryptionSetID != "" {
		out = append(out, link{"Microsoft.Compute/diskEncryptionSets/read", e.DiskEncryptionSetID})
	}
	return out
}

// authorizeLinks refuses a body that links to what the caller may not use.
func (s *Server) authorizeLinks(r *http.Request, by caller, to target, in resource) (answer, bool) {
	for _, l := range to.links(in) {
		_, rest, _ := strings.Cut(strings.ToLower(l.id), "/resourcegroups/")
		group, _, _ := strings.Cut(rest, "/")
		if !s.may(by, group, l.action) {
			return refuse(http.StatusForbidden, "LinkedAuthorizationFailed",
				"The client '%s' with object id '%s' has permission to perform action '%s' on scope '%s'; however, it does not have permission to perform action(s) '%s' on the linked scope(s) '%s' (respectively) or the linked scope(s) are invalid.",
				by.client, by.client, to.action(r.Method), r.URL.Path, l.action, l.id), false
		}
	}
	return answer{}, true
}

// permissions answers a list of what the caller may do in a resource group.
func (s *Server) permissions(by caller, to target) answer {
	role := &iam.Role{Actions: []string{"*"}}
	if by.account.Roles != nil {
		role = by.account.Roles[strings.ToLower(to.group)]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	denied := append(append([]string{}, role.NotActions...), s.denied[strings.ToLower(to.subscription)]...)
	return answer{status: http.StatusOK, body: map[string]any{"value": []map[string]any{
		{"actions": role.Actions, "notActions": denied, "dataActions": []string{}, "notDataActions": []string{}},
	}}}
}

func (s *Server) isDenied(subscription, action string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.denied[strings.ToLower(subscription)] {
		if strings.EqualFold(d, action) {
			return true
		}
	}
	return false
}
