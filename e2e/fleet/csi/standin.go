package csi

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// SimulatedDriver attaches and grows the volumes of a driver in one cluster. It stands in for external-attacher and
// external-resizer.
type SimulatedDriver struct {
	driver Driver
	mgr    ctrl.Manager
	client client.Client
}

// New returns the SimulatedDriver of the cluster that an administrator's configuration leads to.
func New(admin *rest.Config, driver Driver) (*SimulatedDriver, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	mgr, err := ctrl.NewManager(admin, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		// Each cluster has a driver.
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("making a manager: %w", err)
	}
	s := &SimulatedDriver{driver: driver, mgr: mgr, client: mgr.GetClient()}
	return s, s.watch()
}

// Run attaches and grows volumes until the context ends.
func (s *SimulatedDriver) Run(ctx context.Context) error {
	if err := s.mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the simulated driver %s: %w", s.driver.name, err)
	}
	return nil
}

func (s *SimulatedDriver) watch() error {
	for name, one := range map[string]struct {
		object client.Object
		work   func(context.Context, reconcile.Request) error
	}{
		"claims":      {&corev1.PersistentVolumeClaim{}, s.resize},
		"attachments": {&storagev1.VolumeAttachment{}, s.attach},
	} {
		err := builder.ControllerManagedBy(s.mgr).Named(name).For(one.object).
			Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
				err := one.work(ctx, request)
				if apierrors.IsConflict(err) {
					return reconcile.Result{RequeueAfter: conflictDelay}, nil
				}
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}))
		if err != nil {
			return fmt.Errorf("watching %s: %w", name, err)
		}
	}
	return nil
}
