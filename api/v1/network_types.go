package v1

// NetworkPolicy defines which connections the network policies of an application allow. Network plugins
// enforce them, and those of others in the namespace add to them.
type NetworkPolicy struct {
	// egress is Open if the pods may connect to any destination. With Restricted those of backend,
	// frontend, login and database connect to DNS servers, and to the component that they depend on. The
	// login may also connect to port 443 of any pod or host, as the address of its provider is not known. A
	// NetworkPolicy of yours allows more, such as a payment provider. Pods that dump, load or transfer a
	// database are not restricted. The default is Open.
	// +optional
	Egress EgressPolicy `json:"egress,omitempty"`

	// databaseClients are pods that may connect to the database, in addition to the backend. They read
	// its login from the Secret <app>-database-login, which pods of other namespaces cannot. At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	DatabaseClients []ClientPods `json:"databaseClients,omitempty"`

	// backendClients are pods that may connect to the backend, in addition to the frontend. At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	BackendClients []ClientPods `json:"backendClients,omitempty"`
}

// EgressPolicy represents where pods may connect to.
//
// +kubebuilder:validation:Enum=Open;Restricted
type EgressPolicy string

// Where pods may connect to.
const (
	EgressOpen       EgressPolicy = "Open"
	EgressRestricted EgressPolicy = "Restricted"
)

// ClientPods are pods that may connect.
type ClientPods struct {
	// podSelector selects the pods by their labels; {} selects all pods of the namespaces.
	// +required
	PodSelector *PodSelector `json:"podSelector"`

	// namespaces are the namespaces of the pods. Absent: that of the object. At most 10, of 1 to 63
	// characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`
}
