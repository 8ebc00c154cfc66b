# The labels that everything here carries, in one place.

variable "application" {
  description = "What the labelled thing belongs to."
  type        = string
}

variable "team" {
  description = "Who looks after it."
  type        = string
}

output "labels" {
  description = "Labels as a map of text."
  value = {
    application = var.application
    team        = var.team
  }
}
