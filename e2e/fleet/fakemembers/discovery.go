package fakemembers

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Version is the version that members report.
const Version = "v1.36.3"

// discover serves the version, and what a member serves.
func (m *Member) discover(w http.ResponseWriter, r *http.Request) error {
	aggregated := strings.Contains(r.Header.Get("Accept"), "v=v2;as=APIGroupDiscoveryList")
	path := strings.Trim(r.URL.Path, "/")
	switch {
	case path == "version":
		return writeJSON(w, http.StatusOK, version.Info{Major: "1", Minor: "36", GitVersion: Version})
	case aggregated && (path == "api" || path == "apis"):
		raw, err := json.Marshal(m.aggregated(path == "api"))
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		return writeRaw(w, http.StatusOK, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", raw)
	case path == "api":
		return writeJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "apis":
		return writeJSON(w, http.StatusOK, m.groups())
	}
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}}
	_, list.GroupVersion, _ = strings.Cut(path, "/")
	for _, each := range m.served() {
		if each.GroupVersion().String() != list.GroupVersion || strings.HasPrefix(path, "api/") != (each.Group == "") {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: each.plural, Kind: each.Kind, Namespaced: each.namespaced, Verbs: verbs()})
		if each.status {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: each.plural + "/status", Kind: each.Kind, Namespaced: each.namespaced, Verbs: verbs()})
		}
	}
	if len(list.APIResources) == 0 {
		return pageNotFound()
	}
	return writeJSON(w, http.StatusOK, list)
}

func verbs() []string { return []string{"create", "delete", "get", "list", "patch", "watch"} }

// served returns the resources, sorted by group and name.
func (m *Member) served() []servedKind {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	all := make([]servedKind, 0, len(m.store.collections))
	for _, c := range m.store.collections {
		all = append(all, c.servedKind)
	}
	slices.SortFunc(all, func(a, b servedKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.plural, b.plural))
	})
	return all
}

func (m *Member) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	for _, each := range m.served() {
		if each.Group == "" || slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == each.Group }) {
			continue
		}
		served := metav1.GroupVersionForDiscovery{GroupVersion: each.GroupVersion().String(), Version: each.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: each.Group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served})
	}
	return list
}

// aggregated returns the discovery of the core group, or of all others.
func (m *Member) aggregated(core bool) apidiscoveryv2.APIGroupDiscoveryList {
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"}}
	for _, each := range m.served() {
		if core != (each.Group == "") {
			continue
		}
		if n := len(list.Items); n == 0 || list.Items[n-1].Name != each.Group {
			list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{
				ObjectMeta: metav1.ObjectMeta{Name: each.Group}, Versions: []apidiscoveryv2.APIVersionDiscovery{{Version: each.Version}},
			})
		}
		described := apidiscoveryv2.APIResourceDiscovery{
			Resource: each.plural, ResponseKind: groupVersionKind(each.GroupVersionKind), Scope: apidiscoveryv2.ScopeCluster,
			SingularResource: strings.ToLower(each.Kind), Verbs: verbs(),
		}
		if each.namespaced {
			described.Scope = apidiscoveryv2.ScopeNamespace
		}
		if each.status {
			described.Subresources = []apidiscoveryv2.APISubresourceDiscovery{{
				Subresource: "status", ResponseKind: groupVersionKind(each.GroupVersionKind), Verbs: []string{"get", "patch"},
			}}
		}
		versions := list.Items[len(list.Items)-1].Versions
		versions[0].Resources = append(versions[0].Resources, described)
	}
	return list
}

func groupVersionKind(kind schema.GroupVersionKind) *metav1.GroupVersionKind {
	return &metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
}

// review answers that the client may do everything.
func review(w http.ResponseWriter, r *http.Request, t target) error {
	kinds := metav1.TypeMeta{APIVersion: t.version.String()}
	all := []string{"*"}
	switch {
	case r.Method != http.MethodPost:
		return pageNotFound()
	case t.resource == "selfsubjectrulesreviews":
		kinds.Kind = "SelfSubjectRulesReview"
		return writeJSON(w, http.StatusCreated, authorizationv1.SelfSubjectRulesReview{
			TypeMeta: kinds,
			Status: authorizationv1.SubjectRulesReviewStatus{
				ResourceRules: []authorizationv1.ResourceRule{{Verbs: all, APIGroups: all, Resources: all}}, NonResourceRules: []authorizationv1.NonResourceRule{},
			},
		})
	case t.resource == "selfsubjectaccessreviews":
		kinds.Kind = "SelfSubjectAccessReview"
		return writeJSON(w, http.StatusCreated, authorizationv1.SelfSubjectAccessReview{
			TypeMeta: kinds, Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true},
		})
	}
	return pageNotFound()
}
