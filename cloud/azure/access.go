package azure

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/shopfleet/shopfleet/cloud"
)

// The versions of the APIs that armcompute has nothing for.
const (
	versionGroups      = "2021-04-01"
	versionPermissions = "2022-04-01"
	// morePermissions bounds how many pages of permissions are read.
	morePermissions = 20
)

// Identity reads the resource group, which checks the credentials and the account.
func (a *account) Identity(ctx context.Context) (cloud.Identity, error) {
	r := request{"Identity", "", "read"}
	var group struct {
		ID string `json:"id"`
	}
	if err := a.get(ctx, r, a.groupURL("", versionGroups), &group); err != nil {
		return cloud.Identity{}, err
	}
	id, err := arm.ParseResourceID(group.ID)
	if err != nil {
		return cloud.Identity{}, r.refuse(cloud.ClassTransient, "InvalidAnswer", "the answer is not a resource group")
	}
	if !strings.EqualFold(id.SubscriptionID, a.subscription) {
		return cloud.Identity{}, r.refuse(cloud.ClassDenied, "WrongAccount", "the answer is of subscription "+id.SubscriptionID)
	}
	name := a.config.Spec.Azure.ClientID
	if name == "" {
		if name, err = a.bearer.Application(ctx); err != nil {
			return cloud.Identity{}, a.fail(r, err)
		}
	}
	return cloud.Identity{Name: name, Account: id.SubscriptionID}, nil
}

// Preflight reads the permissions on the resource group. Those on disks in other groups
// cannot be asked about without knowing the groups.
func (a *account) Preflight(ctx context.Context, _ cloud.Owner) ([]cloud.PermissionCheck, error) {
	r := request{"Preflight", "", "read"}
	var granted []permission
	next := a.groupURL("/providers/Microsoft.Authorization/permissions", versionPermissions)
	for range morePermissions {
		var page struct {
			Value    []permission `json:"value"`
			NextLink string       `json:"nextLink"`
		}
		if err := a.get(ctx, r, next, &page); err != nil {
			return nil, err
		}
		granted = append(granted, page.Value...)
		if next = page.NextLink; next == "" {
			break
		}
	}
	checks := make([]cloud.PermissionCheck, 0, len(needed())+len(otherGroups()))
	for _, action := range needed() {
		check := cloud.PermissionCheck{Permission: action, By: "role assignments of the resource group", Deletion: action == "Microsoft.Compute/snapshots/delete"}
		for _, p := range granted {
			check.Granted = check.Granted || p.allows(action)
		}
		checks = append(checks, check)
	}
	set, err := a.checkSet(ctx)
	if err != nil {
		return nil, err
	}
	return append(append(checks, otherGroups()...), set), nil
}

// checkSet reads the disk encryption set that the account has for the region. One of another region
// is an error: copies with it would fail.
func (a *account) checkSet(ctx context.Context) (cloud.PermissionCheck, error) {
	check := cloud.PermissionCheck{Permission: permissionSets, Scope: "the resource groups of disk encryption sets", Unchecked: notNamed}
	id := string(a.config.Spec.Azure.Keys[a.region])
	if id == "" {
		return check, nil
	}
	r, field := request{"Preflight", typeSets, "read"}, "spec.azure.keys."+a.region
	where, err := a.locateID(r, typeSets, id)
	if err != nil {
		return check, err
	}
	check = cloud.PermissionCheck{Permission: permissionSets, Scope: "the set of " + field, By: "request"}
	set, err := a.sets.Get(ctx, where.group, where.name, nil)
	err = a.fail(r, err)
	switch location := region(deref(set.Location)); {
	case cloud.ClassOf(err) == cloud.ClassDenied:
		return check, nil
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return check, r.refuse(cloud.ClassInvalid, codeOf(err), field+" is a disk encryption set that does not exist: set the ID of one in "+a.region)
	case err != nil:
		return check, err
	case location != a.region:
		return check, r.refuse(cloud.ClassInvalid, "OtherRegion", field+" is a disk encryption set in "+location+": set the ID of one in "+a.region)
	}
	check.Granted = true
	return check, nil
}

const (
	permissionSets = "Microsoft.Compute/diskEncryptionSets/read"
	// notNamed is why permissions on a resource group are not checked.
	notNamed = "the account does not name them"
)

// otherGroups returns the permissions that a session uses on resource groups that the account
// does not name.
func otherGroups() []cloud.PermissionCheck {
	const disks = "the resource groups of the clusters' disks"
	return []cloud.PermissionCheck{
		{Permission: "Microsoft.Compute/disks/read", Scope: disks, Unchecked: notNamed},
		{Permission: "Microsoft.Compute/disks/beginGetAccess/action", Scope: disks, Unchecked: notNamed},
	}
}

// needed returns the permissions that a session uses, on the account's resource group.
func needed() []string {
	return []string{
		"Microsoft.Resources/subscriptions/resourceGroups/read",
		"Microsoft.Compute/snapshots/read", "Microsoft.Compute/snapshots/write", "Microsoft.Compute/snapshots/delete",
	}
}

// permission represents the actions that one role assignment allows.
type permission struct {
	Actions    []string `json:"actions"`
	NotActions []string `json:"notActions"`
}

func (p permission) allows(action string) bool {
	return matches(p.Actions, action) && !matches(p.NotActions, action)
}

// matches reports whether one of the patterns matches an action. An asterisk matches any
// text.
func matches(patterns []string, action string) bool {
	for _, pattern := range patterns {
		if match(strings.ToLower(pattern), strings.ToLower(action)) {
			return true
		}
	}
	return false
}

func match(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

func (a *account) groupURL(path, version string) string {
	return strings.TrimSuffix(a.arm.Endpoint(), "/") + "/subscriptions/" + url.PathEscape(a.subscription) +
		"/resourceGroups/" + url.PathEscape(a.group) + path + "?api-version=" + version
}

// get sends a GET that armcompute does not support.
func (a *account) get(ctx context.Context, r request, from string, into any) error {
	question, err := runtime.NewRequest(ctx, http.MethodGet, from)
	if err != nil {
		return a.fail(r, err)
	}
	question.Raw().Header.Set("Accept", "application/json")
	response, err := a.arm.Pipeline().Do(question)
	if err != nil {
		return a.fail(r, err)
	}
	defer func() { _ = response.Body.Close() }()
	if !runtime.HasStatusCode(response, http.StatusOK) {
		return a.fail(r, runtime.NewResponseError(response))
	}
	return a.fail(r, runtime.UnmarshalAsJSON(response, into))
}
