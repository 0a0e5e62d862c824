package permissions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

const (
	// allNamespacesProbe is a namespace that does not exist: the rules that apply there apply in all
	// namespaces.
	allNamespacesProbe = "shopfleet-everywhere"
	// reviewsAtOnce bounds the number of concurrent access reviews.
	reviewsAtOnce = 8
	// describedAtMost bounds the number of permissions in a message.
	describedAtMost = 10
)

// ErrUnevaluated means that an authorizer of the cluster failed, so that it is not known whether
// the credentials have a permission.
var ErrUnevaluated = errors.New("the cluster could not decide about a permission: check the authorization webhook of its API server")

// FromRules returns the permissions that the rules grant, one entry for each verb,
// resource and name, sorted and without duplicates. Rules for non-resource URLs are
// ignored.
func FromRules(rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, path := range rule.Resources {
				all = append(all, expand(group, path, rule.Verbs, names)...)
			}
		}
	}
	slices.SortFunc(all, compare)
	return slices.Compact(all)
}

// Within returns the permissions restricted to one namespace.
func Within(namespace string, permissions []authorizationv1.ResourceAttributes) []authorizationv1.ResourceAttributes {
	within := slices.Clone(permissions)
	for i := range within {
		within[i].Namespace = namespace
	}
	return within
}

func expand(group, path string, verbs, names []string) []authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(path, "/")
	all := make([]authorizationv1.ResourceAttributes, 0, len(verbs)*len(names))
	for _, verb := range verbs {
		for _, name := range names {
			all = append(all, authorizationv1.ResourceAttributes{
				Group: group, Resource: resource, Subresource: subresource, Verb: verb, Name: name,
			})
		}
	}
	return all
}

func compare(a, b authorizationv1.ResourceAttributes) int {
	return cmp.Or(
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Resource, b.Resource),
		cmp.Compare(a.Subresource, b.Subresource),
		cmp.Compare(a.Verb, b.Verb),
		cmp.Compare(a.Name, b.Name),
	)
}

// Missing returns the required permissions that the client's credentials lack, in order.
// Permissions without a namespace are required in all namespaces. Rules may be incomplete:
// what they do not grant is reviewed one by one. An error means that the cluster could not be
// asked, or, with ErrUnevaluated, that it could not evaluate a permission.
func Missing(
	ctx context.Context, client authorizationv1client.AuthorizationV1Interface, required []authorizationv1.ResourceAttributes,
) ([]authorizationv1.ResourceAttributes, error) {
	review, err := client.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: allNamespacesProbe},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("reviewing rules: %w", err)
	}
	ungranted := slices.DeleteFunc(slices.Clone(required), func(p authorizationv1.ResourceAttributes) bool {
		return slices.ContainsFunc(review.Status.ResourceRules, func(r authorizationv1.ResourceRule) bool { return covers(r, p) })
	})
	return reviewEach(ctx, client, ungranted)
}

// covers reports whether the rule grants the permission.
func covers(rule authorizationv1.ResourceRule, p authorizationv1.ResourceAttributes) bool {
	path := p.Resource
	if p.Subresource != "" {
		path += "/" + p.Subresource
	}
	return has(rule.Verbs, p.Verb) &&
		has(rule.APIGroups, p.Group) &&
		(has(rule.Resources, path) || p.Subresource != "" && slices.Contains(rule.Resources, "*/"+p.Subresource)) &&
		(len(rule.ResourceNames) == 0 || p.Name != "" && slices.Contains(rule.ResourceNames, p.Name))
}

func has(list []string, value string) bool {
	return slices.Contains(list, value) || slices.Contains(list, "*")
}

// reviewEach reviews permissions one by one, because rules do not include what
// authorizers other than RBAC allow.
func reviewEach(
	ctx context.Context, client authorizationv1client.AuthorizationV1Interface, ungranted []authorizationv1.ResourceAttributes,
) ([]authorizationv1.ResourceAttributes, error) {
	allowed := make([]bool, len(ungranted))
	failed := make([]error, len(ungranted))
	var group sync.WaitGroup
	semaphore := make(chan struct{}, reviewsAtOnce)
	for i := range ungranted {
		semaphore <- struct{}{}
		group.Go(func() {
			defer func() { <-semaphore }()
			review, err := client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &ungranted[i]},
			}, metav1.CreateOptions{})
			if failed[i] = err; err != nil {
				return
			}
			allowed[i] = review.Status.Allowed
			if s := review.Status; !s.Allowed && !s.Denied && s.EvaluationError != "" {
				failed[i] = fmt.Errorf("%s: %s: %w", name(ungranted[i]), s.EvaluationError, ErrUnevaluated)
			}
		})
	}
	group.Wait()
	var missing []authorizationv1.ResourceAttributes
	for i := range ungranted {
		if failed[i] != nil {
			return nil, fmt.Errorf("reviewing access: %w", failed[i])
		}
		if !allowed[i] {
			missing = append(missing, ungranted[i])
		}
	}
	return missing, nil
}

// Reads reports whether the permission is required to list and watch. Without it an
// informer never syncs.
func Reads(p authorizationv1.ResourceAttributes) bool {
	return p.Verb == "get" || p.Verb == "list" || p.Verb == "watch"
}

// Describe formats permissions as "create statefulsets.apps, patch services", sorted.
// Only the first ten are named, followed by the number of others.
func Describe(permissions []authorizationv1.ResourceAttributes) string {
	names := make([]string, len(permissions))
	for i, p := range permissions {
		names[i] = name(p)
	}
	slices.Sort(names)
	rest := ""
	if more := len(names) - describedAtMost; more > 0 {
		names = names[:describedAtMost]
		rest = fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ") + rest
}

func name(p authorizationv1.ResourceAttributes) string {
	text := p.Verb + " " + p.Resource
	if p.Group != "" {
		text += "." + p.Group
	}
	if p.Subresource != "" {
		text += "/" + p.Subresource
	}
	if p.Name != "" {
		text += " " + p.Name
	}
	if p.Namespace != "" {
		text += " in " + p.Namespace
	}
	return text
}
