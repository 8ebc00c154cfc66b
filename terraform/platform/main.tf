# Two queues that take their labels from a module of this repository. The module's owners decide too
# when the module changes.

module "labels" {
  source = "../modules/labels"

  application = "platform"
  team        = "infrastructure"
}

resource "terraform_data" "queue" {
  for_each = toset(["mail", "reports"])

  input = {
    name   = each.key
    labels = module.labels.labels
  }
}
