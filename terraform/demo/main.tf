# One service and the route that leads to it.
#
# A label is part of what the service is, as a Deployment's selector is: it can't be changed on the
# running one. One line here therefore replaces the service.

locals {
  labels = {
    app  = "demo"
    team = "payments"
  }
}

resource "terraform_data" "service" {
  input = {
    name     = "demo"
    replicas = var.replicas
  }

  triggers_replace = local.labels
}

resource "terraform_data" "route" {
  input = {
    host    = "demo.example"
    service = terraform_data.service.id
  }
}
