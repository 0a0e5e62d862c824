package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the kinds in this package.
const GroupName = "ecommerce.io"

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&EcommerceApp{}, &EcommerceAppList{},
		&MemberCluster{}, &MemberClusterList{},
		&CloudAccount{}, &CloudAccountList{},
		&Backup{}, &BackupList{},
		&Restore{}, &RestoreList{},
		&Plan{}, &PlanList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
