package controller

import (
	"cmp"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// EcommerceApp returns the kind of whole shops. Its Selects is meant for an agent: it selects the
// applications of the cluster's users and the copies that name the agent. The hub selects the
// other ones.
func EcommerceApp() reconciler.Kind[*v1.EcommerceApp] {
	return EcommerceAppWith(Templates{Version: render.Version, Render: render.EcommerceApp})
}

// Templates render the components of EcommerceApps with pod templates of a version. Tests run builds with others than
// those of this one.
type Templates struct {
	Version string
	Render  func(*v1.EcommerceApp, render.Cluster) ([]component.Component, error)
}

// EcommerceAppWith returns the kind EcommerceApp with pod templates.
func EcommerceAppWith(t Templates) reconciler.Kind[*v1.EcommerceApp] {
	return reconciler.Kind[*v1.EcommerceApp]{
		Name:    "ecommerceapp",
		CRD:     "ecommerceapps." + v1.GroupName,
		New:     func() *v1.EcommerceApp { return &v1.EcommerceApp{} },
		NewList: func() client.ObjectList { return &v1.EcommerceAppList{} },
		Selects: func(app *v1.EcommerceApp) bool { return app.ManagedByMode() == v1.ManagedByAgent },
		Facts:   withMemberFacts,
		Render:  t.Render,
		Version: t.Version,
		Released: func(app *v1.EcommerceApp) bool {
			return !app.IsCopy() || app.Annotations[v1.RenderingAnnotation] == t.Version
		},
		Unsupported: render.WithoutHub,
		Status: func(app *v1.EcommerceApp) reconciler.Status {
			s := &app.Status
			return reconciler.Status{
				Phase: &s.Phase, Message: &s.Message, ObservedGeneration: &s.ObservedGeneration,
				LastUpdated: &s.LastUpdated, Conditions: &s.Conditions, LastHandledReconcileAt: &s.LastHandledReconcileAt,
				LastHandledImageUpdate: &s.LastHandledImageUpdate, AppliedHash: &s.AppliedHash, DatabaseCreated: &s.DatabaseCreated,
				StartedServer: &s.StartedServer, RenderingVersion: &s.RenderingVersion, HeldTemplates: &s.HeldTemplates,
			}
		},
		Paused:    func(app *v1.EcommerceApp) bool { return app.Spec.Paused },
		SetStatus: setEcommerceAppStatus,
		Last:      lastComponents,
		Database:  databaseOf,
		Clients:   func(app *v1.EcommerceApp) map[string]string { return render.BackendPods(app.Name) },
		DeletesVolumes: func(app *v1.EcommerceApp) (database.Spec, bool) {
			deletes := app.Spec.Deletion.Volumes == v1.DeletionDelete
			if app.IsCopy() { // The hub decides, when it deletes the copy.
				deletes = app.Annotations[v1.DeleteVolumesAnnotation] == "true"
			}
			return render.DatabaseNames(app), deletes
		},
	}
}

// withMemberFacts adds the facts about the member that a copy carries. Hub and agent know no more,
// so that both render the same.
func withMemberFacts(app *v1.EcommerceApp, known render.Cluster) render.Cluster {
	known.Name = cmp.Or(app.Labels[v1.ClusterLabel], known.Name)
	known.Region = cmp.Or(app.Annotations[v1.RegionAnnotation], known.Region)
	known.Provider = cmp.Or(v1.Provider(app.Annotations[v1.ProviderAnnotation]), known.Provider)
	return known
}

// databaseOf returns the database of an application. One with an invalid spec is reported by
// rendering it.
func databaseOf(app *v1.EcommerceApp, known render.Cluster) (database.Spec, bool) {
	if app.Spec.Database == nil {
		return database.Spec{}, false
	}
	db, err := render.Database(app, known)
	return db, err == nil
}

func setEcommerceAppStatus(app *v1.EcommerceApp, r component.Summary) {
	s := &app.Status
	s.DatabaseReplicas = r.Replicas // A lag that was not observed in this pass is not reported.
	if r.States == nil {
		return
	}
	s.Ready, s.Addresses = r.Ready, r.Addresses
	if r.DatabaseStarted {
		s.StartedServer = new(app.Spec.Database.Server())
	}
	s.SetPendingChanges(r.Pending)
	s.Components = nil
	for _, state := range r.States {
		s.Components = append(s.Components, v1.ComponentStatus{
			Name: state.Name, Phase: state.Phase, Ready: state.Ready, Reason: state.Reason, Message: state.Message,
			Replicas: state.Replicas, ReadyReplicas: state.ReadyReplicas, UpdatedReplicas: state.UpdatedReplicas,
		})
		if state.Name == render.Frontend {
			s.Replicas, s.Selector = state.Replicas, state.Selector
		}
	}
}

func lastComponents(app *v1.EcommerceApp) []component.State {
	last := make([]component.State, 0, len(app.Status.Components))
	for _, c := range app.Status.Components {
		last = append(last, component.State{Name: c.Name, ReadyReplicas: c.ReadyReplicas, UpdatedReplicas: c.UpdatedReplicas})
	}
	return last
}

// WebApp returns the kind of single web applications.
func WebApp() reconciler.Kind[*webappv1.WebApp] {
	return reconciler.Kind[*webappv1.WebApp]{
		Name:    "webapp",
		CRD:     "webapps." + webappv1.GroupVersion.Group,
		New:     func() *webappv1.WebApp { return &webappv1.WebApp{} },
		NewList: func() client.ObjectList { return &webappv1.WebAppList{} },
		Render:  render.WebApp,
		Version: render.Version,
		Status: func(app *webappv1.WebApp) reconciler.Status {
			s := &app.Status
			return reconciler.Status{
				Phase: &s.Phase, Message: &s.Message, ObservedGeneration: &s.ObservedGeneration,
				LastUpdated: &s.LastUpdated, Conditions: &s.Conditions,
			}
		},
		SetStatus: func(app *webappv1.WebApp, r component.Summary) {
			s := &app.Status
			for _, state := range r.States {
				s.Replicas, s.AvailableReplicas, s.Selector = state.Replicas, state.ReadyReplicas, state.Selector
			}
		},
	}
}

// MySQLCluster returns the kind of MySQL databases.
func MySQLCluster() reconciler.Kind[*mysqlv1.MySQLCluster] {
	return reconciler.Kind[*mysqlv1.MySQLCluster]{
		Name:    "mysqlcluster",
		CRD:     "mysqlclusters." + mysqlv1.GroupVersion.Group,
		New:     func() *mysqlv1.MySQLCluster { return &mysqlv1.MySQLCluster{} },
		NewList: func() client.ObjectList { return &mysqlv1.MySQLClusterList{} },
		Render:  render.MySQLCluster,
		Version: render.Version,
		Status: func(db *mysqlv1.MySQLCluster) reconciler.Status {
			s := &db.Status
			return reconciler.Status{
				Phase: &s.Phase, Message: &s.Message, ObservedGeneration: &s.ObservedGeneration,
				LastUpdated: &s.LastUpdated, Conditions: &s.Conditions, DatabaseCreated: &s.DatabaseCreated,
			}
		},
		SetStatus: func(db *mysqlv1.MySQLCluster, r component.Summary) {
			s := &db.Status
			for _, state := range r.States {
				s.Replicas, s.ReadyReplicas, s.Selector = state.Replicas, state.ReadyReplicas, state.Selector
				s.UpdatedReplicas = state.UpdatedReplicas
				s.Ready = fmt.Sprintf("%d/%d", state.ReadyReplicas, state.Replicas)
				s.StorageProvisioned = r.Claims > 0 && r.BoundClaims == r.Claims
			}
		},
		Last: func(db *mysqlv1.MySQLCluster) []component.State {
			return []component.State{{Name: database.Component, ReadyReplicas: db.Status.ReadyReplicas, UpdatedReplicas: db.Status.UpdatedReplicas}}
		},
		Database: func(db *mysqlv1.MySQLCluster, known render.Cluster) (database.Spec, bool) {
			spec, err := render.MySQLDatabase(db, known)
			return spec, err == nil
		},
		Unsupported: render.WithoutRDS,
		DeletesVolumes: func(db *mysqlv1.MySQLCluster) (database.Spec, bool) {
			return render.MySQLNames(db), db.Spec.Deletion.Volumes == v1.DeletionDelete
		},
		Extra: []client.Object{&storagev1.StorageClass{}},
	}
}
