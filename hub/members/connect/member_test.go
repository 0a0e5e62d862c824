package connect

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// member is the API server of a cluster that an attempt connects.
type member struct {
	record  server
	version string
	// denied are the permissions that the credentials lack, as in "create pods".
	denied []string
	// codes are the status codes of requests that fail, by method and path.
	codes map[string]int32
	// lease is present, and renewed with each read, if these are true.
	lease, renews bool
	// classless is true without an ingress class.
	classless bool

	mu    sync.Mutex
	asked []string
	reads int64
}

const (
	kubeSystem = "GET /api/v1/namespaces/kube-system"
	classes    = "GET /apis/networking.k8s.io/v1/ingressclasses"
	drivers    = "GET /apis/storage.k8s.io/v1/csidrivers"
	nodes      = "GET /api/v1/nodes"
	configMap  = "GET /api/v1/namespaces/n/configmaps/record"
	crdRequest = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.example.com"
	agentLease = "GET /apis/coordination.k8s.io/v1/namespaces/n/leases/agent"
	creation   = "POST /api/v1/namespaces/n/configmaps"
)

// ServeHTTP answers as an API server that has cert-manager, an ingress class, a CSI driver and a node.
func (m *member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	request := r.Method + " " + r.URL.Path
	m.mu.Lock()
	m.asked = append(m.asked, request)
	code := m.codes[request]
	m.mu.Unlock()
	inJSON(r)
	switch {
	case code != 0:
		refuse(w, code, map[int32]metav1.StatusReason{401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound}[code])
	case r.URL.Query().Has("sendInitialEvents"):
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case r.URL.Query().Has("watch"):
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.Contains(r.URL.Path, "/configmaps"):
		m.record.ServeHTTP(w, r)
	default:
		_ = json.NewEncoder(w).Encode(m.answer(r, request))
	}
}

// inJSON makes JSON of the body of a request, which may have another encoding.
func inJSON(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		body, _ = json.Marshal(object)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
}

func (m *member) answer(r *http.Request, request string) any {
	list := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: kind} }
	switch request {
	case "GET /version":
		return map[string]string{"gitVersion": m.version}
	case "GET /api":
		return metav1.APIVersions{TypeMeta: list("APIVersions"), Versions: []string{"v1"}}
	case "GET /api/v1":
		return metav1.APIResourceList{TypeMeta: list("APIResourceList"), GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "nodes", Kind: "Node"}}}
	case "GET /apis":
		var groups []metav1.APIGroup
		for _, name := range []string{"apiextensions.k8s.io", "cert-manager.io"} {
			served := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
			groups = append(groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served})
		}
		return metav1.APIGroupList{TypeMeta: list("APIGroupList"), Groups: groups}
	case "GET /apis/apiextensions.k8s.io/v1":
		return metav1.APIResourceList{TypeMeta: list("APIResourceList"), GroupVersion: "apiextensions.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"}}}
	case kubeSystem:
		return corev1.Namespace{TypeMeta: list("Namespace"), ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "u"}}
	case classes:
		return networkingv1.IngressClassList{Items: make([]networkingv1.IngressClass, map[bool]int{false: 1}[m.classless])}
	case drivers:
		return storagev1.CSIDriverList{Items: []storagev1.CSIDriver{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}}}
	case nodes:
		return corev1.NodeList{TypeMeta: list("NodeList"), ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}
	case "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		var review authorizationv1.SelfSubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = !slices.Contains(m.denied, asked.Verb+" "+asked.Resource)
		return review
	case agentLease:
		return m.readLease()
	}
	return map[string]string{}
}

func (m *member) readLease() any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.renews {
		m.reads++
	}
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.VersionLabel: "1"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("agent"), RenewTime: &metav1.MicroTime{Time: time.Unix(1000+m.reads, 0)}},
	}
}

// count returns how many requests were of a kind.
func (m *member) count(request string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, asked := range m.asked {
		if asked == request {
			n++
		}
	}
	return n
}
