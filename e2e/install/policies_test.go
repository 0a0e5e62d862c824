package install

import (
	"context"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/setup"
)

// bounded is a member whose admission policies bound the account of the hub.
type bounded struct {
	admin, hub client.Client
	// connections is for requests that are not about one object of a kind.
	connections *kubernetes.Clientset
}

func newBounded(t *testing.T) *bounded {
	t.Helper()
	const name = "eu-1"
	// Without the searches of an environment: the requests are what the hub never sends.
	member := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: name}}}).Member(name)
	framework.Apply(t, member, "config/crd/bases", framework.MemberManifests)
	as, err := clientcmd.RESTConfigFromKubeConfig(framework.Kubeconfig(t, member, config.HubServiceAccount))
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := setup.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &bounded{admin: framework.Admin(t, member)}
	if b.hub, err = client.New(as, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if b.connections, err = kubernetes.NewForConfig(as); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, "the policies are in force", func(ctx context.Context) error {
		if err := b.hub.Create(ctx, claim("kube-system", "x"), client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a claim in kube-system: %w", err)
		}
		return nil
	})
	return b
}

// managed returns the labels of objects that the hub writes.
func managed() map[string]string { return map[string]string{v1.ManagedByLabel: v1.ManagedBy} }

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: managed()}
}

// foreign returns an object without our label.
func foreign[T client.Object](object T) T {
	object.SetLabels(nil)
	return object
}

// of returns an object that belongs to a copy.
func of[T client.Object](app *v1.EcommerceApp, object T) T {
	object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: app.Name, UID: app.UID}})
	return object
}

func copyIn(namespace string) *v1.EcommerceApp {
	return &v1.EcommerceApp{ObjectMeta: meta(namespace, "shop"), Spec: v1.EcommerceAppSpec{Image: "shop:v1"}}
}

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(namespace, name)}
}

func claim(namespace, name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: meta(namespace, name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "a", Image: "a:v1"}}},
	}
}

func deployment(namespace string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta(namespace, "web"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, Template: podTemplate(),
	}}
}

func job(namespace string) *batchv1.Job {
	template := podTemplate()
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: meta(namespace, "job"), Spec: batchv1.JobSpec{Template: template}}
}

func volume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PersistentVolumeSpec{
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
	}}
}

func definition(plural, group string) *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: "Kind"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep},
		}}},
	}}
}

// attempt is a request of the hub's account.
type attempt struct {
	do     func(ctx context.Context) error
	denied bool
}

func (b *bounded) creates(object client.Object, denied bool) attempt {
	return attempt{func(ctx context.Context) error { return b.hub.Create(ctx, object, client.DryRunAll) }, denied}
}

// labels patches a label of an object, which is all that an update needs.
func (b *bounded) labels(object client.Object, denied bool) attempt {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
	return attempt{func(ctx context.Context) error { return b.hub.Patch(ctx, object, patch, client.DryRunAll) }, denied}
}

// claims makes an object one of ours by our label.
func (b *bounded) claims(object client.Object, denied bool) attempt {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1.ManagedByLabel+`":"`+v1.ManagedBy+`"}}}`))
	return attempt{func(ctx context.Context) error { return b.hub.Patch(ctx, object, patch, client.DryRunAll) }, denied}
}

func (b *bounded) deletes(object client.Object, denied bool) attempt {
	return attempt{func(ctx context.Context) error { return b.hub.Delete(ctx, object, client.DryRunAll) }, denied}
}

// execs runs a command in a pod. There is none: a request that is admitted does not find it.
func (b *bounded) execs(namespace, pod string, denied bool) attempt {
	return attempt{func(ctx context.Context) error {
		request := b.connections.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("exec")
		return client.IgnoreNotFound(request.Param("command", "true").Param("stdout", "true").Do(ctx).Error())
	}, denied}
}

func (b *bounded) evicts(namespace, pod string, denied bool) attempt {
	return attempt{func(ctx context.Context) error {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod}}
		return client.IgnoreNotFound(b.connections.CoreV1().Pods(namespace).EvictV1(ctx, eviction))
	}, denied}
}

func (b *bounded) check(t *testing.T, attempts map[string]attempt) {
	t.Helper()
	for name, a := range attempts {
		t.Run(name, func(t *testing.T) {
			err := a.do(t.Context())
			if a.denied && !apierrors.IsForbidden(err) || !a.denied && err != nil {
				t.Errorf("%v, want it denied: %t", err, a.denied)
			}
		})
	}
}

// user is a namespace of users, without a copy.
const user = "user"

// TestMemberPolicies acts in a member as the account of the hub that kubectl shopfleet join creates.
func TestMemberPolicies(t *testing.T) {
	b := newBounded(t)
	const reserved, fresh, left = "vault", "fresh", "left"
	for name, labels := range map[string]map[string]string{
		reserved: {config.ReservedLabel: ""}, left: nil, user: nil, "shopfleet-verify": nil,
	} {
		b.must(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	t.Run("reserved namespaces", func(t *testing.T) {
		for _, namespace := range []string{"kube-system", "kube-public", reserved} {
			b.check(t, b.inReserved(namespace))
		}
		b.check(t, b.inOwn())
	})
	t.Run("the first copy in a new namespace", func(t *testing.T) {
		if err := b.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fresh}}); err != nil {
			t.Fatal(err)
		}
		app := copyIn(fresh)
		if err := b.hub.Create(t.Context(), app); err != nil {
			t.Fatal(err)
		}
		b.check(t, map[string]attempt{
			"workload": b.creates(of(app, deployment(fresh)), false), "job": b.creates(of(app, job(fresh)), false),
			"secret": b.creates(secret(fresh, "shop-database-credentials"), false), "copy": b.labels(app, false),
			"exec": b.execs(fresh, "shop-database-0", false), "eviction": b.evicts(fresh, "shop-database-1", false),
			"workload of nobody": b.creates(deployment(fresh), true), "job of nobody": b.creates(job(fresh), true),
			"without our label": b.creates(foreign(of(app, deployment(fresh))), true),
			"exec elsewhere":    b.execs(fresh, "operator-0", true), "eviction elsewhere": b.evicts(fresh, "operator-0", true),
		})
	})
	t.Run("objects of users", b.testObjectsOfUsers)
	t.Run("when the copy is gone", func(t *testing.T) {
		for _, object := range []client.Object{secret(left, "a"), claim(left, "data-shop-database-0"), job(left)} {
			b.must(t, object)
			b.check(t, map[string]attempt{fmt.Sprintf("%T", object): b.deletes(object, false)})
		}
		b.must(t, foreign(deployment(left)))
		b.check(t, map[string]attempt{
			"a workload of others": b.deletes(deployment(left), true), "make it ours": b.claims(deployment(left), true),
			"another pod": b.execs(left, "operator-0", true),
		})
	})
	t.Run("verification", func(t *testing.T) {
		b.check(t, map[string]attempt{"workload": b.creates(deployment("shopfleet-verify"), false), "exec": b.execs("shopfleet-verify", "a-database-0", false)})
	})
	t.Run("outside of namespaces", func(t *testing.T) { b.check(t, b.outside()) })
	t.Run("parameters do not answer where a copy is", b.testParameters)
	t.Run("others", func(t *testing.T) {
		if err := b.admin.Create(t.Context(), foreign(deployment("kube-system")), client.DryRunAll); err != nil {
			t.Error(err)
		}
	})
}

// testObjectsOfUsers acts on what users have in a namespace without a copy.
func (b *bounded) testObjectsOfUsers(t *testing.T) {
	theirs := foreign(secret(user, "theirs"))
	b.must(t, theirs)
	b.must(t, foreign(deployment(user)))
	b.must(t, foreign(claim(user, "data-shop-database-0")))
	b.must(t, foreign(claim(user, "data")))
	offered := foreign(secret(user, "offered"))
	offered.SetAnnotations(map[string]string{v1.AdoptAnnotation: string(v1.AdoptIfNoDiff)})
	b.must(t, offered)
	stripped := foreign(secret(user, "stripped"))
	stripped.SetLabels(map[string]string{v1.OwnerUIDLabel: "1"})
	b.must(t, stripped)
	b.check(t, map[string]attempt{
		"update a secret": b.labels(theirs, true), "delete a secret": b.deletes(theirs, true),
		"update a workload": b.labels(deployment(user), true), "delete a workload": b.deletes(deployment(user), true),
		"grow a claim that was put back": b.labels(claim(user, "data-shop-database-0"), false), "delete one that was put back": b.deletes(claim(user, "data-shop-database-0"), false),
		"make a secret ours": b.claims(theirs, true), "make a workload ours": b.claims(deployment(user), true),
		"adopt a secret that is offered": b.claims(offered, false), "repair the label of ours": b.claims(stripped, false),
		"another claim": b.deletes(claim(user, "data"), true),
		"a secret":      b.creates(foreign(secret(user, "new")), true),
	})
}

// testParameters shows why the policies have no parameters: one that denies the account of the hub its
// writes where there is no copy denies those of every user there, because the API server looks for
// parameters before it evaluates the conditions. If it changes that, parameters are the better way.
func (b *bounded) testParameters(t *testing.T) {
	const name = "parameters"
	selected := map[string]string{"example.com/selected": "true"}
	b.must(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: selected}})
	b.must(t, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		ParamKind: &admissionv1.ParamKind{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp"},
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
		}}}},
		MatchConditions: []admissionv1.MatchCondition{{Name: "account", Expression: "request.userInfo.username == 'system:serviceaccount:shopfleet-system:shopfleet-hub'"}},
		Validations:     []admissionv1.Validation{{Expression: "true"}},
	}})
	b.must(t, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: selected}},
		ParamRef:       &admissionv1.ParamRef{Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: new(admissionv1.DenyAction)},
	}})
	framework.Eventually(t, "a user's write to be denied", func(ctx context.Context) error {
		if err := b.admin.Create(ctx, secret(name, "a"), client.DryRunAll); !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			return fmt.Errorf("a Secret of an administrator: %w", err)
		}
		return nil
	})
}

func (b *bounded) must(t *testing.T, object client.Object) {
	t.Helper()
	if err := b.admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func (b *bounded) inReserved(namespace string) map[string]attempt {
	app := copyIn(namespace)
	app.UID = "x"
	return map[string]attempt{
		namespace + ": copy": b.creates(copyIn(namespace), true), namespace + ": workload": b.creates(of(app, deployment(namespace)), true),
		namespace + ": job": b.creates(of(app, job(namespace)), true), namespace + ": secret": b.creates(secret(namespace, "a"), true),
		namespace + ": claim": b.creates(claim(namespace, "data-shop-database-0"), true),
		namespace + ": exec":  b.execs(namespace, "shop-database-0", true), namespace + ": eviction": b.evicts(namespace, "shop-database-0", true),
	}
}

// inOwn returns requests in the namespace of Shopfleet.
func (b *bounded) inOwn() map[string]attempt {
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubRecord}}
	other := &corev1.ConfigMap{ObjectMeta: meta(config.Namespace, "other")}
	app := copyIn(config.Namespace)
	app.Name, app.GenerateName = "", "plan-"
	return map[string]attempt{
		"the record": b.creates(record, false), "another ConfigMap": b.creates(other, true), "a secret": b.creates(secret(config.Namespace, "a"), true),
		"a copy for a Plan": b.creates(app, false),
		"a copy":            {func(ctx context.Context) error { return b.hub.Create(ctx, copyIn(config.Namespace)) }, true},
		"exec":              b.execs(config.Namespace, "shop-database-0", true), "a job": b.creates(job(config.Namespace), true),
	}
}

func (b *bounded) outside() map[string]attempt {
	return map[string]attempt{
		"namespace":            b.creates(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "another"}}, false),
		"namespace kube-":      b.creates(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-another"}}, true),
		"definition of others": b.creates(definition("kinds", "example.org"), true),
		"volume":               b.creates(volume(), true),
	}
}
