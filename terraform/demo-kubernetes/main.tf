# A Deployment whose selector holds its labels. Kubernetes never changes a selector in place, so one
# line here replaces the running Deployment.

locals {
  labels = {
    app  = "demo"
    team = "payments"
  }
}

resource "kubernetes_deployment" "demo" {
  metadata {
    name      = "demo"
    namespace = var.namespace
    labels    = local.labels
  }

  spec {
    replicas = var.replicas

    selector {
      match_labels = local.labels
    }

    template {
      metadata {
        labels = local.labels
      }

      spec {
        automount_service_account_token = false

        security_context {
          run_as_non_root = true
          run_as_user     = 65534
        }

        container {
          name  = "demo"
          image = var.image

          security_context {
            allow_privilege_escalation = false
            read_only_root_filesystem  = true

            capabilities {
              drop = ["ALL"]
            }
          }

          resources {
            requests {
              cpu    = "10m"
              memory = "16Mi"
            }

            limits {
              cpu    = "100m"
              memory = "64Mi"
            }
          }
        }
      }
    }
  }

  wait_for_rollout = false
}
