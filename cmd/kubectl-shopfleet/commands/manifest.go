package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// The field managers of kubectl apply.
const (
	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
)

// maxManifest is the size of the manifest that a Plan takes.
const maxManifest = 256 << 10

var (
	errNoApp     = errors.New("there is no EcommerceApp of " + v1.GroupName + "/v1 in the file")
	errManyApps  = errors.New("there is more than one EcommerceApp in the file: plan them one at a time")
	errNamespace = errors.New("the namespace of the manifest is not the one of --namespace")
	errLargeApp  = errors.New("the EcommerceApp is larger than 256 KiB")
	errNotAnApp  = errors.New("the file has something else than objects")
)

// manifest is a file with an EcommerceApp, and the flags of kubectl apply for it.
type manifest struct {
	*Program
	file         string
	serverSide   bool
	force        bool
	fieldManager string
}

func (m *manifest) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&m.file, "filename", "f", "", "`FILE` with the EcommerceApp, or - for the standard input; required")
	cmd.Flags().BoolVar(&m.serverSide, "server-side", false, "As kubectl apply --server-side")
	cmd.Flags().BoolVar(&m.force, "force-conflicts", false, "With --server-side: take over fields of other managers")
	cmd.Flags().StringVar(&m.fieldManager, "field-manager", "", "Name of the field manager; default: that of kubectl apply")
}

func (m *manifest) check() error {
	switch {
	case m.file == "":
		return usagef("--filename is required")
	case m.force && !m.serverSide:
		return usagef("--force-conflicts requires --server-side")
	}
	if m.fieldManager == "" {
		m.fieldManager = clientSideManager
		if m.serverSide {
			m.fieldManager = serverSideManager
		}
	}
	return nil
}

// appliedManifest is an EcommerceApp as the hub would store it.
type appliedManifest struct {
	namespace, name string
	json            string
	// everywhere reports whether the placement excludes no cluster.
	everywhere bool
}

// apply returns the EcommerceApp as kubectl apply would leave it on the hub, by a dry run of that.
func (m *manifest) apply(ctx context.Context, hub *cluster) (appliedManifest, error) {
	app, err := m.read()
	if err != nil {
		return appliedManifest{}, err
	}
	a := appliedManifest{namespace: app.GetNamespace(), name: app.GetName()}
	dry := client.WithFieldValidation(client.WithFieldOwner(client.NewDryRunClient(hub.client), m.fieldManager), metav1.FieldValidationStrict)
	stored, err := m.send(ctx, dry, app)
	if err != nil {
		return a, fmt.Errorf("applying EcommerceApp %q (dry run): %w", a.name, err)
	}
	stored.SetManagedFields(nil)
	unstructured.RemoveNestedField(stored.Object, "status")
	annotations := stored.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	stored.SetAnnotations(annotations)
	raw, err := stored.MarshalJSON()
	if err == nil && len(raw) > maxManifest {
		err = errLargeApp
	}
	if err != nil {
		return a, fmt.Errorf("encoding EcommerceApp %q: %w", a.name, err)
	}
	var placed struct {
		Spec struct {
			Placement v1.Placement `json:"placement"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &placed); err != nil {
		return a, fmt.Errorf("reading the placement of EcommerceApp %q: %w", a.name, err)
	}
	a.json, a.everywhere = string(raw), placed.Spec.Placement.ExcludesNone()
	return a, nil
}

// read returns the EcommerceApp of the file, in the namespace that the user chose unless it has one.
func (m *manifest) read() (*unstructured.Unstructured, error) {
	builder := resource.NewLocalBuilder().Unstructured().Flatten()
	if m.file == "-" {
		builder = builder.Stream(m.streams.In, "standard input")
	} else {
		builder = builder.FilenameParam(false, &resource.FilenameOptions{Filenames: []string{m.file}})
	}
	infos, err := builder.Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	var app *unstructured.Unstructured
	for _, info := range infos {
		object, ok := info.Object.(*unstructured.Unstructured)
		switch {
		case !ok:
			return nil, errNotAnApp
		case object.GroupVersionKind() != v1.GroupVersion.WithKind("EcommerceApp"):
			m.say("Not planned: %s %s. Only EcommerceApps are.", object.GetKind(), object.GetName())
		case app != nil:
			return nil, errManyApps
		default:
			app = object
		}
	}
	if app == nil {
		return nil, errNoApp
	}
	return app, m.setNamespace(app)
}

func (m *manifest) setNamespace(app *unstructured.Unstructured) error {
	namespace, explicit, err := m.flags.ToRawKubeConfigLoader().Namespace()
	switch {
	case err != nil:
		return fmt.Errorf("reading the namespace: %w", err)
	case app.GetNamespace() == "":
		app.SetNamespace(namespace)
	case explicit && app.GetNamespace() != namespace:
		return errNamespace
	}
	return nil
}

// send sends an EcommerceApp as kubectl apply does, and returns the answer.
func (m *manifest) send(ctx context.Context, dry client.Client, app *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if m.serverSide {
		var options []client.ApplyOption
		if m.force {
			options = append(options, client.ForceOwnership)
		}
		return app, dry.Apply(ctx, client.ApplyConfigurationFromUnstructured(app), options...)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(app.GroupVersionKind())
	err := dry.Get(ctx, client.ObjectKeyFromObject(app), live)
	if apierrors.IsNotFound(err) {
		return app, dry.Create(ctx, app)
	}
	if err != nil {
		return nil, err
	}
	patch, err := threeWay(live, app)
	if err != nil {
		return nil, err
	}
	return live, dry.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch))
}

// threeWay returns the patch of kubectl apply: it sets the fields of the manifest, and removes
// the fields that only the last applied manifest had.
func threeWay(live, app *unstructured.Unstructured) ([]byte, error) {
	current, err := live.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding the present object: %w", err)
	}
	modified, err := app.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	original := []byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
	if err != nil {
		return nil, fmt.Errorf("comparing the manifest with the present object: %w", err)
	}
	return patch, nil
}
